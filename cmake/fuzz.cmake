# tests/fuzz/<name>_fuzz.c: with HALFULP_FUZZ (clang) libFuzzer programs, see tests/fuzz/run.sh;
# otherwise tests that replay changed examples and hostile inputs.
file(GLOB fuzz_sources CONFIGURE_DEPENDS tests/fuzz/*_fuzz.c)

# The files that each target is about: what they reach of them is measured (run.sh --coverage).
set(fuzz_files_accumulator precision/rules.c)
set(fuzz_files_cifar data/cifar.c)
set(fuzz_files_config config/load.c config/load.c config/table.c)
set(fuzz_files_container store/container.c)
set(fuzz_files_format format/parse.c format/print.c)
set(fuzz_files_graph journal/graph_json.c)
set(fuzz_files_gzip base/file.c)
set(fuzz_files_history journal/history.c journal/history_brief.c journal/history_reader.c journal/history_reader.c journal/history_reader.c
    journal/names.c base/text_file.c)
set(fuzz_files_idx data/idx.c)
set(fuzz_files_image data/image.c data/image.c data/image.c data/image.c
    data/image.c data/image.c data/image_resize.c)
set(fuzz_files_parallel data/translation.c data/tokenizer.c)
set(fuzz_files_plan config/plan_file.c)
set(fuzz_files_precision precision/names.c precision/precision_epochs.c tensor/quantizer.c)
set(fuzz_files_safetensors store/safetensors_header.c store/safetensors.c)
set(fuzz_files_schedule train/lr_schedule.c)
set(fuzz_files_tensorboard show/tensorboard.c)
set(fuzz_files_sound sound/audio.c)
set(fuzz_files_words data/vocabulary.c data/transcripts.c)
set(fuzz_files_yaml config/yaml.c base/keys.c)

# The rooms that a target needs, with those below them, where these are few and soon built.
set(fuzz_rooms explain config train)
set(fuzz_rooms_cifar data)
set(fuzz_rooms_config config)
set(fuzz_rooms_format format)
set(fuzz_rooms_gzip base)
set(fuzz_rooms_idx data)
set(fuzz_rooms_image data)
set(fuzz_rooms_parallel data)
set(fuzz_rooms_plan config)
set(fuzz_rooms_sound sound)
set(fuzz_rooms_words data)
set(fuzz_rooms_yaml config)

if(HALFULP_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "HALFULP_FUZZ needs clang, found ${CMAKE_C_COMPILER_ID}")
  endif()
  # What a target does not call is left out: libFuzzer clears and reads every counter of the program in every execution.
  target_compile_options(halfulp-options INTERFACE -fsanitize=fuzzer-no-link -ffunction-sections -fdata-sections)
  target_link_options(halfulp-options INTERFACE -Wl,--gc-sections -Wl,-z,start-stop-gc)
  # Nor do the targets themselves tell of a parser, or what every failure calls: the words of a message, the nearest of
  # many names.
  set_source_files_properties(${fuzz_sources} tests/fuzz/harness.c
    src/base/text.c src/base/text.c src/base/status.c src/base/memory.c src/base/keys.c
    PROPERTIES COMPILE_OPTIONS -fno-sanitize=fuzzer-no-link)
  # No parser calls a convolution or a product: instrumented, clang takes minutes for them and not three seconds a file.
  file(GLOB fuzz_plain CONFIGURE_DEPENDS src/kernel/conv/*.c src/kernel/gemm/*.c)
  set_property(SOURCE ${fuzz_plain} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=all,fuzzer-no-link)
  # A large picture is resized in many steps, of which none tells of a parser.
  file(GLOB fuzz_untold CONFIGURE_DEPENDS src/kernel/resample/*.c)
  set_property(SOURCE ${fuzz_untold} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=fuzzer-no-link)
  add_custom_target(fuzz)
  add_custom_target(fuzz-coverage)
endif()

function(fuzz_program target name)
  add_executable(${target} ${ARGN} tests/fuzz/harness.c)
  if(DEFINED fuzz_rooms_${name})
    set(fuzz_rooms ${fuzz_rooms_${name}})
  endif()
  list(TRANSFORM fuzz_rooms PREPEND halfulp-)
  target_link_libraries(${target} PRIVATE ${fuzz_rooms} PkgConfig::XXHASH PkgConfig::ZLIB)
endfunction()

# The same program, whose own objects of its files count lines: they stand in front of the rooms.
function(fuzz_coverage target name source)
  list(TRANSFORM fuzz_files_${name} PREPEND ${CMAKE_SOURCE_DIR}/src/ OUTPUT_VARIABLE files)
  fuzz_program(${target}_coverage ${name} ${source} ${files})
  set_target_properties(${target}_coverage PROPERTIES EXCLUDE_FROM_ALL ON)
  target_compile_options(${target}_coverage PRIVATE -fprofile-instr-generate -fcoverage-mapping)
  target_link_options(${target}_coverage PRIVATE -fsanitize=fuzzer -fprofile-instr-generate)
  add_dependencies(fuzz-coverage ${target}_coverage)
  list(JOIN fuzz_files_${name} "\n" lines)
  file(WRITE ${CMAKE_BINARY_DIR}/${target}.files "${lines}\n")
endfunction()

foreach(source ${fuzz_sources})
  get_filename_component(target ${source} NAME_WE)
  string(REPLACE "_fuzz" "" name ${target})
  fuzz_program(${target} ${name} ${source})
  if(HALFULP_FUZZ)
    target_compile_definitions(${target} PRIVATE FUZZ_FAULT_EVERY=8)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzz ${target})
    fuzz_coverage(${target} ${name} ${source})
  else()
    target_sources(${target} PRIVATE tests/fuzz/replay.c)
    add_test(NAME fuzz_${name}_replay COMMAND ${target})
    set_tests_properties(fuzz_${name}_replay PROPERTIES TIMEOUT 600)
  endif()
endforeach()

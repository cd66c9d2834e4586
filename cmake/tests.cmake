# tests/unit/<room>_<file>_test.c: one cmocka program each, linked to its room and what lies below.
# tests/exhaustive/<room>_<what>.c: long proofs; `ctest -L exhaustive` runs them, plain ctest their short form.
# tests/program/*.py: the program as a user runs it.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
find_library(MPFR_LIBRARY mpfr REQUIRED)
find_library(GMP_LIBRARY gmp REQUIRED)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# Sanitized programs are slower.
set(patience 1)
if(HALFULP_SANITIZERS)
  set(patience 4)
endif()
math(EXPR unit_timeout "600 * ${patience}")
math(EXPR proof_timeout "900 * ${patience}")
math(EXPR program_timeout "1200 * ${patience}")

# tests/reference: definitions taken literally, which tests compare with.
file(GLOB references CONFIGURE_DEPENDS tests/reference/*.c)
add_library(halfulp-reference STATIC ${references})
target_include_directories(halfulp-reference PUBLIC tests)
target_link_libraries(halfulp-reference PUBLIC halfulp-product halfulp-tensor)

# A thread that waits for others sleeps at once: two tests at a time want the cores, and spinning threads take most of them.
# The program's own way to wait is left to these:
set(sleeping OMP_WAIT_POLICY=passive)
set(tests_as_users_run_it program_cli_test program_demo_test)

# Tests of 4 seconds or more, the longest first, with their processor time in seconds: ctest begins with them before it has
# seen how long they take, or the last one would end long after the others.
set(long_tests program_bits_test 56 program_compilers_test 39 program_score_test 30 program_advice_test 22
  program_planted_test 21
  program_assign_test 21 program_scaled_test 20 proof_kernel_round_short 17 program_first_study_test 17
  kernel_wire_test 16 program_recipes_test 14 program_classifiers_test 13 program_plan_test 12 program_compare_test 12
  program_task_test 12 program_hashes_test 11 mpi_reduce_openmpi_4 11 program_resume_test 10 program_why_test 9
  program_readme_test 9 program_bit_record_test 9 data_box_sample_test 8 kernel_round_test 7 program_bit_training_test 7
  proof_kernel_gemm_fast_short 7 kernel_gemm_driver_test 6 kernel_pack_test 6 program_figures_test 6
  program_long_history_test 6 engine_stack_test 6 proof_kernel_block_short 6 proof_kernel_encode_short 6
  proof_kernel_gemm_short 6 program_comm_test 6 program_memory_test 6 program_help_test 5 program_language_test 5
  proof_kernel_gemm_round_short 6
  program_report_test 5 program_augment_test 5 program_dense_test 5 program_detect_test 5 program_detect_regions_test 5
  program_attention_test 5 base_elementary_test 5 program_bench_test 4 proof_kernel_wire_short 4
  kernel_gemm_kernel_test 4)

# Its own reference of pixels is most of it: at -O1 it takes 12 s and not 8.
set_source_files_properties(tests/unit/data_box_sample_test.c PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O3>)

# halfulp_add_test(NAME COMMAND ...): a test, with its cost if it is long.
function(halfulp_add_test name)
  add_test(NAME ${name} ${ARGN})
  list(FIND long_tests ${name} at)
  if(NOT at EQUAL -1)
    math(EXPR at "${at} + 1")
    list(GET long_tests ${at} seconds)
    set_tests_properties(${name} PROPERTIES COST ${seconds})
  endif()
endfunction()

file(GLOB unit_tests CONFIGURE_DEPENDS tests/unit/*_test.c)
foreach(source ${unit_tests})
  get_filename_component(test ${source} NAME_WE)
  string(REGEX REPLACE "_.*" "" room ${test})
  add_executable(${test} ${source})
  target_link_libraries(${test} PRIVATE halfulp-reference halfulp-${room} PkgConfig::CMOCKA ${MPFR_LIBRARY} ${GMP_LIBRARY})
  if(room MATCHES "^(engine|precision|task)$") # their tests take graphs of real models, and the keys
    target_link_libraries(${test} PRIVATE halfulp-model halfulp-config)
  endif()
  if(test STREQUAL session_arguments_test) # of all public functions
    target_link_libraries(${test} PRIVATE halfulp-diagnose)
  endif()
  if(room STREQUAL engine) # only planner makes runs
    target_link_libraries(${test} PRIVATE halfulp-planner)
  endif()
  target_compile_definitions(${test} PRIVATE HALFULP_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  if(HALFULP_SANITIZERS)
    target_compile_definitions(${test} PRIVATE HALFULP_SANITIZED)
  endif()
  target_compile_options(${test} PRIVATE $<$<CONFIG:Release>:-O1>) # of the test alone: it compiles in a third of the time
  halfulp_add_test(${test} COMMAND ${test})
  set_tests_properties(${test} PROPERTIES TIMEOUT ${unit_timeout} ENVIRONMENT "${sleeping}")
endforeach()

file(GLOB proofs CONFIGURE_DEPENDS tests/exhaustive/*.c)
foreach(source ${proofs})
  get_filename_component(test ${source} NAME_WE)
  string(REGEX REPLACE "_.*" "" room ${test})
  add_executable(proof_${test} ${source})
  target_link_libraries(proof_${test} PRIVATE halfulp-reference halfulp-${room} ${MPFR_LIBRARY} ${GMP_LIBRARY})
  halfulp_add_test(proof_${test}_short COMMAND proof_${test} --short)
  add_test(NAME proof_${test}_exhaustive COMMAND proof_${test} CONFIGURATIONS exhaustive)
  set_tests_properties(proof_${test}_short PROPERTIES TIMEOUT ${proof_timeout} ENVIRONMENT "${sleeping}")
  set_tests_properties(proof_${test}_exhaustive PROPERTIES LABELS exhaustive TIMEOUT 86400)
endforeach()

# Preloaded into the program by memory_test.py, faults_test.py and unknown_test.py; the sanitizers have allocators of their own.
function(halfulp_preload name source test)
  add_custom_target(${test})
  if(NOT HALFULP_SANITIZERS)
    add_library(${name} MODULE ${source})
    set_target_properties(${name} PROPERTIES PREFIX "")
    target_compile_options(${name} PRIVATE -Wall -Wextra)
    target_compile_definitions(${name} PRIVATE $<$<BOOL:${HALFULP_COVERAGE}>:HALFULP_COVERAGE>)
    target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS})
    add_dependencies(${test} ${name})
  endif()
endfunction()
halfulp_preload(fail-memory tests/faults/fail_memory.c program_memory_test)
halfulp_preload(fail-files tests/faults/fail_files.c program_faults_test)
halfulp_preload(back-clock tests/faults/back_clock.c program_unknown_test)
add_custom_target(program_lookup_test DEPENDS program_faults_test) # takes the same library

file(GLOB program_tests CONFIGURE_DEPENDS tests/program/*_test.py)
foreach(source ${program_tests})
  get_filename_component(test ${source} NAME_WE)
  halfulp_add_test(program_${test} COMMAND ${Python3_EXECUTABLE} ${source})
  set_tests_properties(program_${test} PROPERTIES TIMEOUT ${program_timeout} SKIP_RETURN_CODE 77
    ENVIRONMENT "HALFULP=$<TARGET_FILE:halfulp-program>;HALFULP_SOURCE=${CMAKE_SOURCE_DIR}")
  if(NOT program_${test} IN_LIST tests_as_users_run_it)
    set_property(TEST program_${test} APPEND PROPERTY ENVIRONMENT "${sleeping}")
  endif()
endforeach()

foreach(test memory faults crash damage documents compilers) # their long forms
  add_test(NAME ${test}_exhaustive CONFIGURATIONS exhaustive
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tests/program/${test}_test.py exhaustive)
  set_tests_properties(${test}_exhaustive PROPERTIES LABELS exhaustive TIMEOUT 86400
    SKIP_RETURN_CODE 77
    ENVIRONMENT "HALFULP=$<TARGET_FILE:halfulp-program>;HALFULP_SOURCE=${CMAKE_SOURCE_DIR}")
endforeach()

# Small changes of formats, rounding and packing, which the unit tests must notice: tools/mutants.py.
if(CMAKE_GENERATOR STREQUAL "Ninja" AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT HALFULP_SANITIZERS)
  set(mutants ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/mutants.py --build ${CMAKE_BINARY_DIR})
  add_test(NAME mutants_short COMMAND ${mutants} --short)
  add_test(NAME mutants_exhaustive CONFIGURATIONS exhaustive COMMAND ${mutants})
  set_tests_properties(mutants_short PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77)
  set_tests_properties(mutants_exhaustive PROPERTIES LABELS exhaustive TIMEOUT 86400 SKIP_RETURN_CODE 77)
endif()

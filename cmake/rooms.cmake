# One static library per room of src/WING/, linked only to the rooms below it: an upward call does not link.
# A new source file needs no line here; `*_avx2.c`, `*_avx512.c` and `*_vbmi.c` (AVX-512 that looks up bytes) get the
# flags of their instruction set, and `variant.c` and `*_variant.c` are compiled once for each instruction set, with
# HU_ISA = its name.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(HALFULP_IS_X86 ON)
endif()
set(HALFULP_AVX2_FLAGS -mavx2 -mfma -mf16c -mbmi2)
set(HALFULP_AVX512_FLAGS -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -mbmi2
                         -mprefer-vector-width=512)
set(HALFULP_VBMI_FLAGS ${HALFULP_AVX512_FLAGS} -mavx512vbmi)

# halfulp_variant(WING ROOM ISA FLAGS SOURCES): objects of a room's sources for one instruction set
function(halfulp_variant wing room isa flags sources)
  set(name halfulp-${room}-${isa})
  add_library(${name} OBJECT ${sources})
  target_link_libraries(${name} PUBLIC halfulp-options)
  target_compile_options(${name} PRIVATE ${flags})
  target_compile_definitions(${name} PRIVATE HU_ISA=${isa})
  target_sources(halfulp-${room} PRIVATE $<TARGET_OBJECTS:${name}>)
  set_property(GLOBAL APPEND PROPERTY HALFULP_ROOMS ${name})
  set_property(GLOBAL APPEND PROPERTY HALFULP_ROOMS_OF_${wing} ${name})
endfunction()

# halfulp_room(WING NAME [BELOW rooms] [LIBRARIES libraries])
function(halfulp_room wing name)
  cmake_parse_arguments(ROOM "" "" "BELOW;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${wing}/${name}/*.c)
  set(variants ${sources}) # compiled for each instruction set, below
  list(FILTER variants INCLUDE REGEX "variant\\.c$")
  list(FILTER sources EXCLUDE REGEX "variant\\.c$")
  if(HALFULP_IS_X86)
    foreach(source ${sources})
      if(source MATCHES "avx2\\.c$")
        set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${HALFULP_AVX2_FLAGS}")
      elseif(source MATCHES "avx512\\.c$")
        set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${HALFULP_AVX512_FLAGS}")
      elseif(source MATCHES "vbmi\\.c$")
        set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${HALFULP_VBMI_FLAGS}")
      endif()
    endforeach()
  else()
    list(FILTER sources EXCLUDE REGEX "(avx2|avx512|vbmi)\\.c$")
  endif()
  if(HALFULP_DNNL)
    list(FILTER sources EXCLUDE REGEX "/onednn_absent\\.c$")
  else()
    list(FILTER sources EXCLUDE REGEX "/onednn(_library)?\\.c$")
  endif()
  # Modules of their own: mpi.cmake, drawn.cmake.
  list(FILTER sources EXCLUDE REGEX "/(comm/mpi|report/drawn)\\.c$")
  if(sources)
    add_library(halfulp-${name} STATIC ${sources})
    target_link_libraries(halfulp-${name} PUBLIC halfulp-options)
    # Kernels are left out: they get arrays that were measured above them, and read no file.
    if(NOT name STREQUAL kernel)
      target_link_libraries(halfulp-${name} PRIVATE halfulp-hardened)
    endif()
    target_link_libraries(halfulp-${name} PUBLIC ${ROOM_LIBRARIES})
    foreach(below ${ROOM_BELOW})
      target_link_libraries(halfulp-${name} PUBLIC halfulp-${below})
    endforeach()
    set_property(GLOBAL APPEND PROPERTY HALFULP_ROOMS halfulp-${name})
    set_property(GLOBAL APPEND PROPERTY HALFULP_ROOMS_OF_${wing} halfulp-${name})
    if(variants)
      halfulp_variant(${wing} ${name} scalar "" "${variants}")
      if(HALFULP_IS_X86)
        halfulp_variant(${wing} ${name} avx2 "${HALFULP_AVX2_FLAGS}" "${variants}")
        halfulp_variant(${wing} ${name} avx512 "${HALFULP_AVX512_FLAGS}" "${variants}")
      endif()
    endif()
  else()
    add_library(halfulp-${name} INTERFACE)
  endif()
endfunction()

# TensorBoard's messages in C, made from their schema; what protoc-c writes is not under our warnings.
set(schema ${CMAKE_BINARY_DIR}/schema)
add_custom_command(OUTPUT ${schema}/tensorboard.pb-c.c ${schema}/tensorboard.pb-c.h
  COMMAND ${CMAKE_COMMAND} -E make_directory ${schema}
  COMMAND ${PROTOC_C} --proto_path=${CMAKE_SOURCE_DIR}/src/study/render --c_out=${schema} tensorboard.proto
  DEPENDS src/study/render/tensorboard.proto VERBATIM)
add_library(halfulp-schema STATIC ${schema}/tensorboard.pb-c.c)
target_include_directories(halfulp-schema SYSTEM PUBLIC ${schema})
target_compile_options(halfulp-schema PRIVATE -fvisibility=hidden)
target_link_libraries(halfulp-schema PUBLIC PkgConfig::PROTOBUF_C)
# From the ground floor up; rooms on one storey do not see each other.
halfulp_room(number base LIBRARIES PkgConfig::XXHASH PkgConfig::ZLIB ${CMAKE_DL_LIBS})
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${CMAKE_INSTALL_FULL_BINDIR}
           OUTPUT_VARIABLE libraries_from_program)
set_source_files_properties(src/number/base/module.c PROPERTIES COMPILE_DEFINITIONS
  HALFULP_MODULES_FROM_PROGRAM="${libraries_from_program}/halfulp")
halfulp_room(number format BELOW base)
halfulp_room(number kernel BELOW format base)
if(HALFULP_IS_X86) # the bodies without vectors by hand, for measurements and tests
  file(GLOB products src/number/kernel/gemm/f*_variant.c)
  halfulp_variant(number kernel portable_avx2 "${HALFULP_AVX2_FLAGS};-DHU_GEMM_PORTABLE=1" "${products}")
endif()
halfulp_room(number tensor BELOW kernel format base)
halfulp_room(number product BELOW kernel base)

halfulp_room(data media BELOW kernel base LIBRARIES PkgConfig::JPEG PkgConfig::PNG PkgConfig::WEBP
             PkgConfig::SNDFILE PkgConfig::SAMPLERATE)
halfulp_room(data data BELOW media kernel base LIBRARIES PkgConfig::ZLIB PkgConfig::EXPAT PkgConfig::UTF8PROC)
halfulp_room(data store BELOW tensor base)

halfulp_room(learn op BELOW product tensor kernel media base)
halfulp_room(learn comm BELOW tensor kernel format base)
halfulp_room(learn graph BELOW store op product tensor kernel format base)
halfulp_room(learn precision BELOW graph)
halfulp_room(learn engine BELOW graph op tensor kernel format base)
halfulp_room(learn task BELOW graph data)
halfulp_room(learn planner BELOW engine graph op tensor kernel format base)
halfulp_room(learn model BELOW task graph)
halfulp_room(learn train BELOW planner engine task precision model graph comm store data)

halfulp_room(study config BELOW base format LIBRARIES PkgConfig::YAML)
halfulp_room(study render BELOW base LIBRARIES halfulp-schema PkgConfig::ISAL PkgConfig::JANSSON)
halfulp_room(study runlog BELOW train config render)
halfulp_room(study predict BELOW train config render)
halfulp_room(study settings BELOW runlog)
halfulp_room(study session BELOW settings predict)
halfulp_room(study diagnose BELOW runlog)
halfulp_room(study report BELOW runlog)
halfulp_room(study sweep BELOW session report diagnose)

halfulp_room(program bench BELOW session report diagnose)
halfulp_room(program help BELOW session)
if(HALFULP_DNNL AND NOT DNNL_INCLUDE STREQUAL "/usr/include")
  include_directories(${DNNL_INCLUDE})
endif()

file(GLOB HALFULP_CLI_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/program/cli/*.c)

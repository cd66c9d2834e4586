# One static library per room of src/, linked only to the rooms below it: an upward call does not link.
# A new source file needs no line here; `*_avx2.c` and `*_avx512.c` get the flags of their instruction set.
set(HALFULP_AVX2_FLAGS -mavx2 -mfma -mf16c -mbmi2)
set(HALFULP_AVX512_FLAGS -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -mbmi2
                         -mprefer-vector-width=512)

function(halfulp_room name)
  cmake_parse_arguments(ROOM "" "" "BELOW;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.c)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    foreach(source ${sources})
      if(source MATCHES "avx2\\.c$")
        set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${HALFULP_AVX2_FLAGS}")
      elseif(source MATCHES "avx512\\.c$")
        set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${HALFULP_AVX512_FLAGS}")
      endif()
    endforeach()
  else()
    list(FILTER sources EXCLUDE REGEX "avx(2|512)\\.c$")
  endif()
  list(FILTER sources EXCLUDE REGEX "/comm/mpi\\.c$") # modules of their own: mpi.cmake
  if(sources)
    add_library(halfulp-${name} STATIC ${sources})
    target_link_libraries(halfulp-${name} PUBLIC halfulp-options)
    target_link_libraries(halfulp-${name} PUBLIC ${ROOM_LIBRARIES})
    foreach(below ${ROOM_BELOW})
      target_link_libraries(halfulp-${name} PUBLIC halfulp-${below})
    endforeach()
    set_property(GLOBAL APPEND PROPERTY HALFULP_ROOMS halfulp-${name})
  else()
    add_library(halfulp-${name} INTERFACE)
  endif()
endfunction()

# TensorBoard's messages in C, made from their schema; what protoc-c writes is not under our warnings.
set(schema ${CMAKE_BINARY_DIR}/schema)
add_custom_command(OUTPUT ${schema}/tensorboard.pb-c.c ${schema}/tensorboard.pb-c.h
  COMMAND ${CMAKE_COMMAND} -E make_directory ${schema}
  COMMAND ${PROTOC_C} --proto_path=${CMAKE_SOURCE_DIR}/src/show --c_out=${schema} tensorboard.proto
  DEPENDS src/show/tensorboard.proto VERBATIM)
add_library(halfulp-schema STATIC ${schema}/tensorboard.pb-c.c)
target_include_directories(halfulp-schema SYSTEM PUBLIC ${schema})
target_compile_options(halfulp-schema PRIVATE -fvisibility=hidden)
target_link_libraries(halfulp-schema PUBLIC PkgConfig::PROTOBUF_C)
# From the ground floor up; rooms on one storey do not see each other.
halfulp_room(base LIBRARIES PkgConfig::XXHASH PkgConfig::ZLIB)
halfulp_room(format BELOW base)
halfulp_room(show BELOW base LIBRARIES halfulp-schema PkgConfig::ISAL PkgConfig::JANSSON)
halfulp_room(kernel BELOW format base)
halfulp_room(tensor BELOW kernel format base)
halfulp_room(data BELOW kernel base LIBRARIES PkgConfig::ZLIB PkgConfig::JPEG PkgConfig::PNG
             PkgConfig::EXPAT)
halfulp_room(config BELOW base LIBRARIES PkgConfig::YAML)
halfulp_room(product BELOW kernel base LIBRARIES ${DNNL_LIBRARY})
halfulp_room(op BELOW product tensor kernel base)
halfulp_room(store BELOW tensor base)
halfulp_room(comm BELOW tensor kernel format base LIBRARIES ${CMAKE_DL_LIBS})
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${CMAKE_INSTALL_FULL_BINDIR}
           OUTPUT_VARIABLE libraries_from_program)
set_source_files_properties(src/comm/load.c PROPERTIES COMPILE_DEFINITIONS
  HALFULP_MODULES_FROM_PROGRAM="${libraries_from_program}/halfulp")
halfulp_room(graph BELOW store op product tensor kernel format base)
halfulp_room(precision BELOW graph)
halfulp_room(engine BELOW graph op tensor kernel format base)
halfulp_room(task BELOW graph data)
halfulp_room(layout BELOW engine graph op tensor kernel format base)
halfulp_room(model BELOW task graph)
halfulp_room(train BELOW layout engine task precision model graph comm store data)
halfulp_room(journal BELOW train config show)
halfulp_room(session BELOW journal)
halfulp_room(explain BELOW journal)
halfulp_room(report BELOW journal)
halfulp_room(sweep BELOW session report explain)
halfulp_room(bench BELOW session report explain)
if(DNNL_INCLUDE AND NOT DNNL_INCLUDE STREQUAL "/usr/include")
  include_directories(${DNNL_INCLUDE})
endif()

file(GLOB HALFULP_CLI_SOURCES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cli/*.c)

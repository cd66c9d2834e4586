# libhalfulp, shared and static, out of the objects of its rooms.
# The library is all rooms but those of the program.
get_property(library_rooms GLOBAL PROPERTY HALFULP_ROOMS)
list(REMOVE_ITEM library_rooms halfulp-sweep halfulp-bench halfulp-report
                          halfulp-help)
set(objects $<TARGET_OBJECTS:halfulp-schema>)
foreach(room ${library_rooms})
  list(APPEND objects $<TARGET_OBJECTS:${room}>)
endforeach()
set(library_packages XXHASH ZLIB JPEG PNG WEBP EXPAT UTF8PROC SNDFILE SAMPLERATE YAML JANSSON PROTOBUF_C ISAL)
list(TRANSFORM library_packages PREPEND PkgConfig:: OUTPUT_VARIABLE library_targets)

# The version script keeps private what is not marked HU_API, also in the objects of others.
set(abi ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
file(CONFIGURE OUTPUT halfulp.map CONTENT "HALFULP_${abi} { global: hu_*; local: *; };\n")
add_library(halfulp-shared SHARED ${objects})
set_target_properties(halfulp-shared PROPERTIES OUTPUT_NAME halfulp EXPORT_NAME halfulp
  VERSION ${PROJECT_VERSION} SOVERSION ${abi} LINKER_LANGUAGE C INSTALL_RPATH_USE_LINK_PATH ON
  LINK_DEPENDS ${CMAKE_BINARY_DIR}/halfulp.map)
target_link_options(halfulp-shared PRIVATE -Wl,-Bsymbolic-functions -Wl,-z,defs -Wl,-z,relro -Wl,-z,now
  -Wl,--version-script=${CMAKE_BINARY_DIR}/halfulp.map)
if(HALFULP_SANITIZERS) # their symbols come with the program
  target_link_options(halfulp-shared PRIVATE ${HALFULP_SANITIZERS} -Wl,-z,undefs)
endif()
if(HALFULP_COVERAGE)
  target_link_options(halfulp-shared PRIVATE --coverage)
endif()
target_link_libraries(halfulp-shared PRIVATE ${library_targets} ${DNNL_LIBRARY}
  OpenMP::OpenMP_C ${CMAKE_DL_LIBS} m)

add_library(halfulp-static STATIC ${objects})
set_target_properties(halfulp-static PROPERTIES OUTPUT_NAME halfulp LINKER_LANGUAGE C)
target_link_libraries(halfulp-static INTERFACE ${library_targets} ${DNNL_LIBRARY}
  OpenMP::OpenMP_C ${CMAKE_DL_LIBS} m)
foreach(library halfulp-shared halfulp-static)
  target_include_directories(${library} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()

# libhalfulp and libhalfulp-number, shared and static, out of the objects of their rooms.
set(abi ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
# The version script keeps private what is not marked HU_API, also in the objects of others.
file(CONFIGURE OUTPUT halfulp.map CONTENT "HALFULP_${abi} { global: hu_*; local: *; };\n")

# halfulp_library(NAME ROOMS rooms LIBRARIES libraries): NAME-shared and NAME-static
function(halfulp_library name)
  cmake_parse_arguments(LIBRARY "" "" "ROOMS;LIBRARIES" ${ARGN})
  list(TRANSFORM LIBRARY_ROOMS REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  list(APPEND LIBRARY_LIBRARIES OpenMP::OpenMP_C ${CMAKE_DL_LIBS} m)
  add_library(${name}-shared SHARED ${objects})
  set_target_properties(${name}-shared PROPERTIES OUTPUT_NAME ${name} EXPORT_NAME ${name}
    VERSION ${PROJECT_VERSION} SOVERSION ${abi} LINKER_LANGUAGE C INSTALL_RPATH_USE_LINK_PATH ON
    LINK_DEPENDS ${CMAKE_BINARY_DIR}/halfulp.map)
  target_link_options(${name}-shared PRIVATE -Wl,-Bsymbolic-functions -Wl,-z,defs -Wl,-z,relro -Wl,-z,now
    -Wl,--version-script=${CMAKE_BINARY_DIR}/halfulp.map)
  if(HALFULP_SANITIZERS) # their symbols come with the program
    target_link_options(${name}-shared PRIVATE ${HALFULP_SANITIZERS} -Wl,-z,undefs)
  endif()
  if(HALFULP_COVERAGE)
    target_link_options(${name}-shared PRIVATE --coverage)
  endif()
  target_link_libraries(${name}-shared PRIVATE ${LIBRARY_LIBRARIES})
  add_library(${name}-static STATIC ${objects})
  set_target_properties(${name}-static PROPERTIES OUTPUT_NAME ${name} LINKER_LANGUAGE C)
  target_link_libraries(${name}-static INTERFACE ${LIBRARY_LIBRARIES})
  foreach(library ${name}-shared ${name}-static)
    target_include_directories(${library} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  endforeach()
endfunction()

# The library is all rooms but those of the program.
get_property(library_rooms GLOBAL PROPERTY HALFULP_ROOMS)
list(REMOVE_ITEM library_rooms halfulp-sweep halfulp-bench halfulp-report
                          halfulp-help)
set(library_packages XXHASH ZLIB JPEG PNG WEBP EXPAT UTF8PROC SNDFILE SAMPLERATE YAML JANSSON PROTOBUF_C ISAL)
list(TRANSFORM library_packages PREPEND PkgConfig::)
halfulp_library(halfulp ROOMS halfulp-schema ${library_rooms} LIBRARIES ${library_packages})

# Formats, rounding, packing and products of plain arrays by themselves. No public header speaks of the
# room product.
get_property(number_rooms GLOBAL PROPERTY HALFULP_ROOMS_OF_number)
list(REMOVE_ITEM number_rooms halfulp-product)
halfulp_library(halfulp-number ROOMS ${number_rooms} LIBRARIES PkgConfig::XXHASH PkgConfig::ZLIB)

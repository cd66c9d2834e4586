# What `cmake --install` puts in place: the program, the library behind the public headers, and what
# pkg-config and find_package(halfulp) need to find it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(public_rooms base format kernel tensor data)
set(objects)
foreach(room ${public_rooms})
  list(APPEND objects $<TARGET_OBJECTS:halfulp-${room}>)
endforeach()
add_library(halfulp-library STATIC ${objects})
set_target_properties(halfulp-library PROPERTIES
  OUTPUT_NAME halfulp EXPORT_NAME halfulp LINKER_LANGUAGE C)
target_include_directories(halfulp-library INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(halfulp-library INTERFACE PkgConfig::XXHASH PkgConfig::ZLIB
  PkgConfig::JPEG PkgConfig::PNG   OpenMP::OpenMP_C m)

# Finds a oneDNN that is not the system's where the build found it.
set_target_properties(halfulp-program PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS halfulp-program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS halfulp-library EXPORT halfulp ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/halfulp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/halfulp)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/halfulp)
configure_file(cmake/halfulp.pc.in halfulp.pc @ONLY)
write_basic_package_version_file(halfulpConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/halfulp.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES cmake/halfulpConfig.cmake ${CMAKE_BINARY_DIR}/halfulpConfigVersion.cmake
  DESTINATION ${package_dir})
install(EXPORT halfulp NAMESPACE halfulp:: FILE halfulpTargets.cmake DESTINATION ${package_dir})

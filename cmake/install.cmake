# What `cmake --install` puts in place: the program, the library behind the public headers, shared and
# static, and what pkg-config and find_package(halfulp) need to find it.
include(CMakePackageConfigHelpers)

# Finds a oneDNN that is not the system's where the build found it.
set_target_properties(halfulp-program PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS halfulp-program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS halfulp-shared halfulp-static EXPORT halfulp
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(mpi ${HALFULP_MPIS}) # where comm/load.c looks for them
  install(TARGETS halfulp-${mpi} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/halfulp)
endforeach()
install(DIRECTORY include/halfulp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/halfulp)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/halfulp)
cmake_path(GET DNNL_LIBRARY PARENT_PATH DNNL_FOLDER)
configure_file(cmake/halfulp.pc.in halfulp.pc @ONLY)
write_basic_package_version_file(halfulpConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/halfulp.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES cmake/halfulpConfig.cmake ${CMAKE_BINARY_DIR}/halfulpConfigVersion.cmake
  DESTINATION ${package_dir})
install(EXPORT halfulp NAMESPACE halfulp:: FILE halfulpTargets.cmake DESTINATION ${package_dir})

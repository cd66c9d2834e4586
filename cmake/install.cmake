# What `cmake --install` puts in place: the program, the library behind the public headers, shared and
# static, and what pkg-config and find_package(halfulp) need to find it.
include(CMakePackageConfigHelpers)

set_target_properties(halfulp-program PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS halfulp-program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS halfulp-shared halfulp-static EXPORT halfulp
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# `cmake --install build --component number` installs libhalfulp-number and its headers alone.
install(TARGETS halfulp-number-shared halfulp-number-static EXPORT halfulp
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT number
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT number)
foreach(header api status random format round histogram gemm tensor quantize)
  install(FILES include/halfulp/${header}.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/halfulp COMPONENT number)
endforeach()
foreach(mpi ${HALFULP_MPIS}) # where base/module.c looks for them
  install(TARGETS halfulp-${mpi} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/halfulp)
endforeach()
if(TARGET halfulp-drawn)
  install(TARGETS halfulp-drawn LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/halfulp)
endif()
install(DIRECTORY include/halfulp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/halfulp)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/halfulp)
configure_file(cmake/halfulp.pc.in halfulp.pc @ONLY)
configure_file(cmake/halfulp-number.pc.in halfulp-number.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/halfulp-number.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT number)
write_basic_package_version_file(halfulpConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/halfulp.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES cmake/halfulpConfig.cmake ${CMAKE_BINARY_DIR}/halfulpConfigVersion.cmake
  DESTINATION ${package_dir})
install(EXPORT halfulp NAMESPACE halfulp:: FILE halfulpTargets.cmake DESTINATION ${package_dir})

# Manual pages and completion are what the program itself prints, out of its own tables, when it is
# installed.
file(READ ${CMAKE_SOURCE_DIR}/src/program/cli/verb.h verb_table)
string(REGEX MATCHALL "\n    X\\([a-z]+" verbs "${verb_table}")
list(TRANSFORM verbs REPLACE "\n    X.(.*)" "\\1")
set(manual ${CMAKE_BINARY_DIR}/manual)
install(CODE "file(MAKE_DIRECTORY \"${manual}\")")
function(install_printed file destination) # further arguments: what the program is asked
  install(CODE "execute_process(COMMAND \"$<TARGET_FILE:halfulp-program>\" ${ARGN}
    OUTPUT_FILE \"${manual}/${file}\" COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES ${manual}/${file} DESTINATION ${destination})
endfunction()
install_printed(halfulp.1 ${CMAKE_INSTALL_MANDIR}/man1 man)
foreach(verb ${verbs})
  install_printed(halfulp-${verb}.1 ${CMAKE_INSTALL_MANDIR}/man1 man ${verb})
endforeach()
install_printed(halfulp ${CMAKE_INSTALL_DATADIR}/bash-completion/completions completion bash)
install_printed(_halfulp ${CMAKE_INSTALL_DATADIR}/zsh/site-functions completion zsh)
install_printed(halfulp.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d completion fish)

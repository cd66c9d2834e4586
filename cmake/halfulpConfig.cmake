# halfulp::halfulp is the shared library and needs nothing else; halfulp::halfulp-static needs what
# is looked for here.
include(CMakeFindDependencyMacro)
find_package(OpenMP COMPONENTS C)
find_package(PkgConfig)
if(PkgConfig_FOUND)
  foreach(package XXHASH:libxxhash ZLIB:zlib JPEG:libjpeg PNG:libpng WEBP:libwebp EXPAT:expat
                  UTF8PROC:libutf8proc SNDFILE:sndfile SAMPLERATE:samplerate YAML:yaml-0.1 JANSSON:jansson
                  PROTOBUF_C:libprotobuf-c ISAL:libisal)
    string(REPLACE ":" ";" package ${package})
    list(GET package 0 name)
    list(GET package 1 module)
    pkg_check_modules(${name} QUIET IMPORTED_TARGET ${module})
  endforeach()
endif()
include(${CMAKE_CURRENT_LIST_DIR}/halfulpTargets.cmake)

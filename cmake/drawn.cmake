# The module that draws figures as PDF and PNG (report/drawn.h): none is needed to build.
pkg_check_modules(RSVG IMPORTED_TARGET librsvg-2.0>=2.46 cairo-pdf cairo-png)
if(RSVG_FOUND)
  add_library(halfulp-drawn MODULE src/study/report/drawn.c)
  set_target_properties(halfulp-drawn PROPERTIES PREFIX "")
  target_link_libraries(halfulp-drawn PRIVATE halfulp-options halfulp-hardened PkgConfig::RSVG)
else()
  message(STATUS "librsvg: not found; no figures as PDF and PNG")
endif()

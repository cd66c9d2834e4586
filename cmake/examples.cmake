# The examples link the shared library alone: no room, no word of the program.
file(GLOB examples CONFIGURE_DEPENDS examples/*.c)
foreach(source ${examples})
  get_filename_component(name ${source} NAME_WE)
  add_executable(example_${name} ${source})
  target_include_directories(example_${name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
  target_compile_options(example_${name} PRIVATE -std=c17 -Wall -Wextra -Wpedantic)
  target_link_libraries(example_${name} PRIVATE halfulp-shared m)
  if(HALFULP_SANITIZERS) # their run-time library must come first
    target_link_options(example_${name} PRIVATE ${HALFULP_SANITIZERS})
  endif()
endforeach()

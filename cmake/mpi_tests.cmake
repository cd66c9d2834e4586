# tests/mpi: what needs several processes. 2 and 4 processes of Open MPI run with all other tests; more of them, MPICH
# and SimGrid's simulation with `ctest -C comm -L comm`.
add_executable(mpi_reduce tests/mpi/reduce.c)
target_link_libraries(mpi_reduce PRIVATE halfulp-comm)

set(openmpi_words --allow-run-as-root --oversubscribe --bind-to none --mca mpi_yield_when_idle 1)
set(mpich_words "")

# halfulp_mpi_test(NAME test MPI openmpi|mpich PROCESSES n [LONG] COMMAND ...)
function(halfulp_mpi_test)
  cmake_parse_arguments(TEST "LONG" "NAME;MPI;PROCESSES" "COMMAND" ${ARGN})
  find_program(HALFULP_MPIRUN_${TEST_MPI} NAMES mpirun.${TEST_MPI} mpirun)
  if(NOT TEST_MPI IN_LIST HALFULP_MPIS OR NOT HALFULP_MPIRUN_${TEST_MPI})
    return()
  endif()
  set(configurations "")
  if(TEST_LONG)
    set(configurations CONFIGURATIONS comm)
  endif()
  halfulp_add_test(${TEST_NAME} ${configurations} COMMAND ${HALFULP_MPIRUN_${TEST_MPI}}
           ${${TEST_MPI}_words} -np ${TEST_PROCESSES} ${TEST_COMMAND})
  set_tests_properties(${TEST_NAME} PROPERTIES TIMEOUT 900 LABELS comm PROCESSORS 2
    ENVIRONMENT ASAN_OPTIONS=detect_leaks=0) # an MPI keeps what it has
endfunction()

foreach(processes 2 4)
  halfulp_mpi_test(NAME mpi_reduce_openmpi_${processes} MPI openmpi PROCESSES ${processes}
                   COMMAND $<TARGET_FILE:mpi_reduce>)
endforeach()
foreach(processes 1 3 8)
  halfulp_mpi_test(NAME mpi_reduce_openmpi_${processes} MPI openmpi PROCESSES ${processes} LONG
                   COMMAND $<TARGET_FILE:mpi_reduce>)
endforeach()
foreach(processes 1 2 3 4 8)
  halfulp_mpi_test(NAME mpi_reduce_mpich_${processes} MPI mpich PROCESSES ${processes} LONG
                   COMMAND $<TARGET_FILE:mpi_reduce>)
endforeach()

# The same sources as programs that SimGrid simulates: `smpirun` loads them, once per process, as libraries.
find_program(HALFULP_SMPIRUN NAMES smpirun)
function(halfulp_smpi_program name)
  halfulp_ask_wrapper(${HALFULP_SMPICC} SMPI)
  add_library(${name} MODULE ${ARGN} src/learn/comm/mpi.c)
  target_link_libraries(${name} PRIVATE halfulp-comm ${SMPI_l})
  target_link_directories(${name} PRIVATE ${SMPI_L})
  target_include_directories(${name} SYSTEM PRIVATE ${SMPI_I})
  target_compile_definitions(${name} PRIVATE HALFULP_SMPI)
  # As smpicc does: it renames what takes time.
  target_compile_options(${name} PRIVATE -include smpi/smpi_helpers.h)
  set_target_properties(${name} PROPERTIES PREFIX "")
endfunction()

if(HALFULP_SMPICC AND HALFULP_SMPIRUN AND NOT HALFULP_SANITIZE)
  halfulp_smpi_program(mpi_reduce_smpi tests/mpi/reduce.c)
  halfulp_smpi_program(mpi_time_smpi tests/mpi/time.c tests/mpi/hollow.c)
  target_compile_definitions(mpi_time_smpi PRIVATE HALFULP_HOLLOW)
  foreach(processes 1 2 3 4 8 256)
    set(every 1)
    if(processes EQUAL 256)
      set(every 59) # all schedules, scalings and formats are among the cases
    endif()
    add_test(NAME mpi_reduce_smpi_${processes} CONFIGURATIONS comm
             COMMAND ${HALFULP_SMPIRUN} -platform ${CMAKE_SOURCE_DIR}/tests/mpi/cluster.xml -np ${processes}
             --cfg=smpi/lat-factor:0:1 --cfg=smpi/bw-factor:0:1 --cfg=smpi/simulate-computation:no
             --log=root.thresh:error $<TARGET_FILE:mpi_reduce_smpi> ${every})
    set_tests_properties(mpi_reduce_smpi_${processes} PROPERTIES TIMEOUT 3600 LABELS comm)
  endforeach()
endif()

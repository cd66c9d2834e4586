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
  add_test(NAME ${TEST_NAME} ${configurations} COMMAND ${HALFULP_MPIRUN_${TEST_MPI}}
           ${${TEST_MPI}_words} -np ${TEST_PROCESSES} ${TEST_COMMAND})
  set_tests_properties(${TEST_NAME} PROPERTIES TIMEOUT 900 LABELS comm PROCESSORS 2)
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

/* SPDX-License-Identifier: Apache-2.0
 * Two ranks exchange messages of 1 byte to 1 MiB, short ones eagerly and long ones by rendezvous, and check what
 * arrives. Compile it with mpicc; docs/programs.md shows how to run it with a NIC for each rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kLongest = 1 << 20, kRounds = 4 };

static unsigned char sent[kLongest], received[kLongest];

static void fill(int from, int size, int round) {
  for (int i = 0; i < size; ++i) sent[i] = (unsigned char)(i * 7 + i / 251 + round + 100 * from);
}

static void check(int from, int size, int round) {
  for (int i = 0; i < size; ++i) {
    if (received[i] == (unsigned char)(i * 7 + i / 251 + round + 100 * from)) continue;
    fprintf(stderr, "byte %d of %d from rank %d is wrong\n", i, size, from);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

int main(int argc, char **argv) {
  int rank, ranks, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2) {
    fprintf(stderr, "needs two ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const int peer = 1 - rank;
  for (int size = 1; size <= kLongest; size *= 32) {
    double start = MPI_Wtime();
    for (int round = 0; round < kRounds; ++round) {
      fill(rank, size, round);
      if (rank == 0) MPI_Send(sent, size, MPI_BYTE, peer, round, MPI_COMM_WORLD);
      MPI_Recv(received, size, MPI_BYTE, peer, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank == 1) MPI_Send(sent, size, MPI_BYTE, peer, round, MPI_COMM_WORLD);
      check(peer, size, round);
    }
    if (rank == 0) printf("%8d bytes: %.1f us\n", size, (MPI_Wtime() - start) * 1e6 / (2 * kRounds));
  }
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("ranks together: %d\n", sum);
  MPI_Finalize();
  return 0;
}

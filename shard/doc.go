// Package shard distributes the records of a dataset to trainers.
//
// All functions are deterministic, so trainers that compute their own shares agree. The package
// does input and output only through its arguments. Trainers, files and records are numbered from
// 0.
//
// # Whole files
//
// Mod assigns file i to trainer i mod n, like the readers of PaddlePaddle. LPT balances records or
// bytes. Rendezvous moves few files when the number of trainers changes. All of them sort files by
// the bytes of their names, and return an error rather than leave a trainer without a file. StepsOf
// returns how many steps all trainers can then take, dropping or repeating records.
//
// # Records
//
// Dataset numbers all records consecutively. Dataset.Range cuts this sequence into runs that differ
// by at most one record, one for each trainer.
//
// An Order visits all records once an epoch, the same way for any number of trainers: Sequential,
// Global (a bijection on the records in constant memory) or Block (shuffled in windows of blocks,
// so that reading stays almost sequential). In each step the n trainers take the next n positions
// of the order,
//
//	trainer r, step k:  order.At(cursor + k*n + r)
//
// and a Walk counts them in its cursor. The cursor is the whole state (State): any number of
// trainers can resume from it, and together they take each record exactly once, whatever the
// numbers of trainers before and after. No number has to divide another. Only the last step of an
// epoch may have fewer records than trainers; Exact, Drop or Pad determine what it does.
//
// Trainers that take turns all visit every block of a window, so n of them read each block n times.
// Lanes over a Block avoid that: while n divides the number of lanes, each block is read by one
// trainer, except at the ends of lanes. A trainer holds one window for each of its lanes.
//
// # Complete sets
//
// CheckSet and CompareSet detect files that are missing, duplicate, or left from an earlier run.
// Env finds out which trainer a process is, and how many there are. WriteList writes the file lists
// that older training programs read.
//
// # Stability
//
// The assignment is a format: for the same input, seed and epoch it is the same in every version of
// this package, on every machine. The numbers are
//
//	mix(x)        = finalizer of SplitMix64
//	golden        = 0x9e3779b97f4a7c15
//	derive(a...)  : key = 0; for each a: key = mix((key+golden) ^ mix(a+golden)) + golden; mix(key)
//	permute(n, k) : Feistel network of 10 rounds on the bits of n-1, the upper half the
//	                larger; round i = 0..9 adds to one half, the upper one first,
//	                by exclusive or, the top bits of mix(other half ^ (k + i*golden));
//	                repeated while the result is not below n
//	Global        = permute(records, derive(1, seed, epoch))
//	Block         = blocks in the order permute(blocks, derive(2, seed, epoch)); in window w
//	                permute(records of the window, derive(derive(3, seed, epoch), w))
//	Lanes         = of L rows of the order, the first (records mod L) one record longer,
//	                the record at p/L of row p mod L
//	Rendezvous    = highest mix(mix(FNV-1a(name)) ^ mix(trainer+golden)); files in order
//
// and golden tests hold the first values. Sums and products are modulo 2^64.
//
// # Files
//
//	file, name, set, seterror        files of a dataset, the numbers in their names, incomplete sets
//	trainer, env                     the number of this trainer and of all trainers
//	assignment, mod, lpt,            whole files for trainers
//	rendezvous, list
//	dataset, span                    all records in sequence, and runs of them
//	order, block, lanes, shuffle     the orders of an epoch, and their names
//	permutation, mix                 the functions that they are computed with
//	walk, state, equal               a trainer's steps in an epoch, resuming, and surplus records
//	errors                           the errors
package shard

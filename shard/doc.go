// Package shard shares the records of a dataset out to trainers.
//
// It computes and does no input or output but through what it is given; all
// functions are deterministic, and what trainers compute for themselves agrees.
// Trainers, files and records are numbered from 0. Loads are records, or bytes of
// files.
//
// # Whole files
//
// Mod gives file i to trainer i mod n, as the readers of PaddlePaddle do. LPT
// balances records or bytes. Rendezvous keeps files with their trainers when their
// number changes. All take files in the lexicographic order of their names' bytes,
// whatever the order they come in, and refuse to leave a trainer without any. StepsOf
// tells how many steps all of them then can take, dropping or repeating records.
//
// # Records
//
// Dataset numbers all records through. Dataset.Range cuts this row into pieces that
// differ by at most one record, one for each trainer.
//
// An Order visits all records once an epoch, the same way for any number of trainers:
// Sequential, Global (a bijection on the records in constant memory) or Block
// (shuffled in windows of blocks, so that reading stays near to sequential). In each
// step the n trainers take the next n positions of the order,
//
//	trainer r, step k:  order.At(cursor + k*n + r)
//
// and a Walk counts them in its cursor. This number is all there is to keep (State):
// any number of trainers may go on from it, and what they have taken before and
// after is each record exactly once, whatever the numbers of trainers. Nothing has to
// be divisible by anything. Only the last step of an epoch may have fewer records than
// trainers; what it then does is Exact, Drop or Pad.
//
// Trainers that take turns all pass over every block of a window, and so n of them
// read each block n times. Lanes over a Block avoid that: while n divides the number of
// lanes, each block is read by one trainer, except where lanes begin and end. A trainer
// holds one window for each of its lanes.
//
// # Complete sets
//
// CheckSet and CompareSet refuse files that are missing, there twice, or left from an
// earlier run. Env reads which trainer of how many a process is. WriteList writes the
// lists of files that older training programs read.
//
// # Stability
//
// Which trainer gets what is a format: for the same input, seed and epoch it is the
// same in every version of this package, on every machine. The numbers are
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
//	file, name, set, seterror        files of a dataset, the numbers in their names, sets that are not whole
//	trainer, env                     who of how many a process is
//	assignment, mod, lpt,            whole files for trainers
//	rendezvous, list
//	dataset, span                    all records in a row, and its pieces
//	order, block, lanes, shuffle     the orders of an epoch, and the words that users write for them
//	permutation, mix                 the numbers that they are made of
//	walk, state, equal               a trainer's way through an epoch, how it goes on, and what is left over
//	errors                           the errors
package shard

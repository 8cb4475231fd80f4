// Package dataset makes datasets for training, verifies them, publishes them and divides them among
// trainers, on any pfs.FileSystem. It is the library of the commands paddlectl dataset.
//
// A dataset is a directory of shards, which are RecordIO files, and a manifest (package manifest
// documents its format). The manifest is written last: a set without one is not complete.
//
//   - Convert turns tables, images, arrays and other formats into a dataset.
//   - Open reads a manifest; Find lists the files that users name: shards of datasets, and others.
//   - Dataset.Verify compares a dataset with its manifest, Dataset.Check only names and sizes.
//   - Dataset.Publish makes a dataset the next version of a published one; Versions, Latest and
//     SetLatest work on these versions.
//   - Split writes the records to other files; Share divides them among trainers.
//
// # Errors
//
// An error is, or wraps, a pfs.Error or an error of package recordio or convert, and has a
// pfs.Kind. An Error also has a Reason, which tells a program what to do. Messages name options
// as manifests do, such as --line-count.
//
// # Resuming
//
// Convert works in the directory .NAME.convert beside the shards (see stagingDir). One run works
// there at a time. A run that fails leaves its finished shards there. With Options.Resume the next
// run keeps those that have the digest and the records that it expects.
//
// # Memory
//
// Convert holds the samples that it reads and about 64 MiB of the shard that it writes; lists of
// inputs, shuffles, and records whose number must be known first go to temporary files. Shuffled
// reading keeps up to 256 MiB of decoded chunks.
//
// # Files
//
//	options, errors              the options of Convert; errors and their reasons
//	convert, sink, staging       a conversion: its steps, its shards, and the directory that it works in
//	parts, partsrun,             a conversion by several processes: its options, the work of one
//	partsshards, units           process, the shards; units of the inputs
//	inputs, survey, records      inputs: finding files, choosing them by name, datasets as inputs
//	existing                     files of an existing dataset, and what may not be replaced
//	open, verify                 opening and checking datasets and files
//	publish, versions            published datasets
//	split                        writing records to other files
//	share, order                 records for trainers
package dataset

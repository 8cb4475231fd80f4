// Package dataset makes datasets for training, checks them, publishes them and shares them out to
// trainers, on any pfs.FileSystem. It is the library of the commands paddlectl dataset.
//
// A dataset is a directory of shards, files of RecordIO, and a manifest (package manifest, which
// documents its format). The manifest is written last: a set without one is not complete.
//
//   - Convert turns tables, images, arrays and other formats into a dataset.
//   - Open reads a manifest; Find lists the shards of datasets, and files, as their users name them.
//   - Dataset.Verify holds a dataset against its manifest, Dataset.Check only names and sizes.
//   - Dataset.Publish makes a dataset the next version of a published one; Versions, Latest and
//     SetLatest are about these.
//   - Split writes the records to other files; Share gives each trainer its part.
//
// # Errors
//
// An error is, or wraps, a pfs.Error or an error of package recordio or convert, and has a
// pfs.Kind. An Error also has the Reason, by which a program knows the way out. Messages call
// options as manifests do, such as --line-count.
//
// # Resuming
//
// Convert keeps its work in the directory .NAME.convert beside the shards (stagingDir says what is
// in it). One run works there at a time. A run that fails leaves the shards that it finished, and
// Options.Resume goes on with those that have the digest and the records that it expects.
//
// # Memory
//
// Convert holds the samples that are being read and about 64 MiB of the shard that is written;
// lists of inputs, shuffles and records whose number must be known go to temporary files. Shuffled
// reading keeps up to 256 MiB of decoded chunks.
//
// # Files
//
//	options, errors              what Convert is told; why it and the others refuse
//	convert, sink, staging       a conversion: its steps, its shards, where it keeps them and which run works there
//	inputs, survey, records      what is read: found, and chosen by name; datasets as inputs, other encodings
//	existing                     what is there of a dataset, and what may not be replaced
//	open, verify                 datasets and files, opened and checked
//	publish, versions            published datasets
//	split                        records written to other files
//	share, order                 records for trainers
package dataset

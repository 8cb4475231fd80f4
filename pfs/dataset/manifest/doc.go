// Package manifest is the list of what a converted dataset consists of: a file kept
// beside its shards as a dot-file, which the patterns that find shards do not match.
// It is written last, so that a set with a manifest is complete.
//
// # Format
//
// A manifest is one JSON object with the fields of Manifest in their order, indented
// by two blanks, and a line feed. There is one text for each manifest, and Read takes
// no other: keys that are not known or there twice, numbers in another form, sums that
// do not add up are all errors. It holds nothing of when, where or by whom a set was
// made, so that equal sets have equal manifests.
package manifest

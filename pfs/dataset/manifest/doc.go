// Package manifest reads and writes the list of the contents of a converted dataset: a dot-file
// beside its shards, which the patterns that find shards do not match. It is written last, so that
// a set with a manifest is complete.
//
// # Format
//
// A manifest is one JSON object with the fields of Manifest in their order, indented by two blanks,
// and a line feed. There is one text for each manifest, and Read accepts no other: unknown or
// repeated keys, other forms of numbers, and totals that do not add up are errors. It does not
// contain when, where or by whom a set was made, so that equal sets have equal manifests. For a set
// of two shards:
//
//	{
//	  "format": "paddle-dataset",
//	  "version": 1,
//	  "name": "housing",             prefix of the shards' names
//	  "records": 13,                 totals of the shards
//	  "record_bytes": 130,
//	  "bytes": 200,
//	  "payload": "msgpack",          encoding of the records
//	  "of": "count",                 what -of- in the shards' names counts
//	  "source": "csv",               format of the inputs
//	  "inputs": [{"path": "a.csv", "files": 1, "bytes": 17}],
//	  "options": ["--line-count=10"],
//	  "columns": [{"name": "CRIM", "type": "float"}],
//	  "classes": ["cat", "dog"],     labels; a record has the number of its label
//	  "notes": ["a set becomes an array"],  types of the inputs that the payload lacks
//	  "bad": 0,                      malformed records that were left out
//	  "shards": [
//	    {"name": "housing-00000-of-00002", "records": 10, "record_bytes": 100, "bytes": 150, "digest": "blake3:..."},
//	    {"name": "housing-00001-of-00002", "records": 3, "record_bytes": 30, "bytes": 50, "digest": "blake3:..."}
//	  ]
//	}
//
// (shortened: the text has each key on a line of its own). "of", "columns", "classes" and
// "notes" are missing where they would be empty. A column that is a label has "label", its position
// among the labels. The digest is the tree digest of package pfs/digest.
package manifest

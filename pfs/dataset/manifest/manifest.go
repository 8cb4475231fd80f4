package manifest

import "errors"

// Format and Version begin every manifest.
const (
	Format  = "paddle-dataset"
	Version = 1
)

// Limits of what Read accepts.
const (
	MaxBytes  = 64 << 20 // of the text
	MaxShards = 1 << 18
)

// ErrMalformed is the error for a manifest that Read refuses.
var ErrMalformed = errors.New("malformed manifest")

// Manifest describes a set of shards. All counts are of the whole set.
type Manifest struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Name    string `json:"name"` // prefix of the names of all shards

	Records     int64  `json:"records"`
	RecordBytes int64  `json:"record_bytes"` // of the payloads
	Bytes       int64  `json:"bytes"`        // of the shards as they are stored
	Payload     string `json:"payload"`      // how records are encoded: msgpack, pickle, json, raw

	// Of is the number behind -of- in the names of the shards: "count" or "last"; ""
	// if they have none.
	Of string `json:"of,omitempty"`

	Source  string   `json:"source"`            // the format of the inputs, such as csv
	Inputs  []Input  `json:"inputs"`            // in the order in which they were read
	Options []string `json:"options"`           // flags that the bytes depend on
	Columns []Column `json:"columns,omitempty"` // of tables, Parquet and arrays of numpy
	Classes []string `json:"classes,omitempty"` // labels, by their number
	Notes   []string `json:"notes,omitempty"`   // properties of the inputs' types that the payload lacks, sorted
	Bad     int64    `json:"bad"`               // records that were left out

	Shards []Shard `json:"shards"` // in the order of their names
}

// Input is one operand that records came from.
type Input struct {
	Path  string `json:"path"` // its last element
	Files int64  `json:"files"`
	Bytes int64  `json:"bytes"` // of the files as they are stored; 0 for a stream
}

// Column is one column of a table, of Parquet files or of an archive of arrays. A single array is
// one column without a name.
type Column struct {
	Name  string `json:"name"`
	Type  string `json:"type"`            // in the grammar of docs/datasets.md
	Label int    `json:"label,omitempty"` // position among the labels, from 1, if records are [features, labels]
}

// Shard is one file of the set.
type Shard struct {
	Name        string `json:"name"`
	Records     int64  `json:"records"`
	RecordBytes int64  `json:"record_bytes"`
	Bytes       int64  `json:"bytes"`  // of the file
	Digest      string `json:"digest"` // of the file, as package pfs/digest writes BLAKE3
}

// Names returns the names of the shards in their order.
func (m *Manifest) Names() []string {
	names := make([]string, len(m.Shards))
	for i, s := range m.Shards {
		names[i] = s.Name
	}
	return names
}

// Sum sets the counts of m to the totals of its shards.
func (m *Manifest) Sum() {
	m.Records, m.RecordBytes, m.Bytes = 0, 0, 0
	for _, s := range m.Shards {
		m.Records += s.Records
		m.RecordBytes += s.RecordBytes
		m.Bytes += s.Bytes
	}
}

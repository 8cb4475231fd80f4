package recordio

// Policy determines how a Scanner treats damage.
type Policy uint8

const (
	// Fail stops at the first damage: Scan returns false and Err describes it. All records of
	// earlier chunks have been returned.
	Fail Policy = iota
	// Skip omits a damaged chunk and continues with the next intact one.
	Skip
	// Salvage also returns records of a damaged chunk: all of them if only the header is damaged,
	// and those outside the damage if parts of the payload have checksums of their own (snappy,
	// zstd, gzip with several members). Behind a damaged part, the first record boundary is
	// inferred from a consistent chain of lengths; one or two records are given up for certainty.
	// Only content that imitates such a chain can be mistaken for records.
	Salvage
)

// String returns the policy's name: fail, skip or salvage.
func (p Policy) String() string {
	switch p {
	case Fail:
		return "fail"
	case Skip:
		return "skip"
	case Salvage:
		return "salvage"
	}
	return "unknown"
}

// Damage is a place in a file where bytes differ from what was written.
type Damage struct {
	Offset int64  // of the first byte of the damaged chunk or omitted range
	Bytes  int64  // from there to the next whole chunk or the end
	Lost   int64  // records lost; -1 if unknown
	Saved  int64  // records of that place that were returned
	Err    *Error // what is wrong
}

// Loss is the total of all damage that a Scanner found.
type Loss struct {
	Places  int64 // damaged places
	Bytes   int64 // in them
	Records int64 // known to be lost
	Saved   int64 // salvaged from damaged chunks
	Unknown int64 // places with an unknown number of lost records
}

// add counts d.
func (l *Loss) add(d Damage) {
	l.Places++
	l.Bytes += d.Bytes
	l.Saved += d.Saved
	if d.Lost < 0 {
		l.Unknown++
	} else {
		l.Records += d.Lost
	}
}

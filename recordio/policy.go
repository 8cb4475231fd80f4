package recordio

// Policy says what a Scanner does with damage.
type Policy uint8

const (
	// Fail stops at the first damage: Scan returns false and Err tells where it is.
	// All records of the chunks before it have been returned.
	Fail Policy = iota
	// Skip passes over a damaged chunk and goes on with the next one that is whole.
	Skip
	// Salvage also returns records of a damaged chunk: all of them where only the
	// header is damaged, and those outside the damaged part where parts of the payload
	// have checksums of their own (snappy, zstd, gzip of several members). Behind such
	// a part the first boundary between records is inferred from a chain of lengths
	// that agree; a record or two are given up to be sure of it. Only content made to
	// look like such a chain could pass for records.
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

// Damage is one place of a file where bytes are not what was written.
type Damage struct {
	Offset int64  // of the first byte of the damaged chunk or of the stretch passed over
	Bytes  int64  // from there to the next whole chunk or the end
	Lost   int64  // records lost; -1 where nothing tells how many
	Saved  int64  // records of that place that were returned nevertheless
	Err    *Error // what is wrong
}

// Loss sums up all damage that a Scanner met.
type Loss struct {
	Places  int64 // damaged places
	Bytes   int64 // in them
	Records int64 // lost for certain
	Saved   int64 // saved out of damaged chunks
	Unknown int64 // places of which nobody knows how many records they held
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

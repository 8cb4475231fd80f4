package recordio

// Dialect is one of the formats that bear the name and the magic of RecordIO.
type Dialect uint8

// The dialects. Each differs from Go in the order of the words of its header, in
// its checksum or in its snappy payload.
const (
	Unknown    Dialect = iota // nothing read yet
	Go                        // PaddlePaddle/recordio; the only one that is written
	Wangkuiyi                 // wangkuiyi/recordio: as Go, with snappy frames of any size
	Fluid                     // paddle/fluid/recordio: record count first, snappystream payload
	Pyrecordio                // elasticdl/pyrecordio: record count first, CRC-32C, snappy blocks
)

// String returns the dialect's name.
func (d Dialect) String() string {
	switch d {
	case Go:
		return "go"
	case Wangkuiyi:
		return "wangkuiyi"
	case Fluid:
		return "fluid"
	case Pyrecordio:
		return "pyrecordio"
	}
	return "unknown"
}

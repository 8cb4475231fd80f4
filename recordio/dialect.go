package recordio

// Dialect is a variant of the RecordIO format. All have the same magic.
type Dialect uint8

// The dialects. They differ from Go in the order of the header words, the checksum or the snappy
// encoding.
const (
	Unknown    Dialect = iota // nothing has been read yet
	Go                        // PaddlePaddle/recordio; the only one that Writer writes
	Wangkuiyi                 // wangkuiyi/recordio: like Go, with snappy frames of any size
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

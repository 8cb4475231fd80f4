package recordio

import (
	"fmt"
	"strings"
)

// Compressor is the compression of a payload. The values are those in chunk headers.
type Compressor uint32

// The compressors. Zstd is an extension that only this package supports.
const (
	None   Compressor = 0
	Snappy Compressor = 1
	Gzip   Compressor = 2
	Zstd   Compressor = 0x5a530001
)

// Compressors lists the supported compressors in the order of their values.
func Compressors() []Compressor { return []Compressor{None, Snappy, Gzip, Zstd} }

// String returns the name that ParseCompressor accepts.
func (c Compressor) String() string {
	switch c {
	case None:
		return "none"
	case Snappy:
		return "snappy"
	case Gzip:
		return "gzip"
	case Zstd:
		return "zstd"
	}
	return fmt.Sprintf("compressor %#x", uint32(c))
}

func (c Compressor) known() bool { return c <= Gzip || c == Zstd }

// ParseCompressor returns the compressor with the given name: none, snappy, gzip or zstd.
func ParseCompressor(name string) (Compressor, error) {
	var names []string
	for _, c := range Compressors() {
		if c.String() == name {
			return c, nil
		}
		names = append(names, c.String())
	}
	return None, fmt.Errorf("no compressor %q; there are %s", name, strings.Join(names, ", "))
}

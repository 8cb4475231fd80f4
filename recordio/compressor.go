package recordio

import (
	"fmt"
	"strings"
)

// Compressor says how payloads are stored. The values are those in chunk headers.
type Compressor uint32

// The compressors. Zstd is an extension that only this package reads and writes.
const (
	None   Compressor = 0
	Snappy Compressor = 1
	Gzip   Compressor = 2
	Zstd   Compressor = 0x5a530001
)

// Compressors returns those that can be read and written, in the order of their values.
func Compressors() []Compressor { return []Compressor{None, Snappy, Gzip, Zstd} }

// String returns the name that ParseCompressor reads.
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

// ParseCompressor returns the compressor of that name: none, snappy, gzip or zstd.
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

package convert

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// isParquetText reports whether the values of a column are text.
func isParquetText(n *schema.PrimitiveNode) bool {
	switch n.LogicalType().(type) {
	case schema.StringLogicalType, schema.EnumLogicalType, schema.JSONLogicalType:
		return n.PhysicalType() == parquet.Types.ByteArray
	}
	return false
}

func giveBool(enc Encoder, v bool) error       { enc.Bool(v); return nil }
func giveFloat32(enc Encoder, v float32) error { enc.Float32(v); return nil }
func giveFloat64(enc Encoder, v float64) error { enc.Float64(v); return nil }

func giveInt96(enc Encoder, v parquet.Int96) error {
	enc.Int(v.ToTime().UnixNano())
	return nil
}

// giverInt gives integers of a column; U is the unsigned form of T.
func giverInt[U uint32 | uint64, T int32 | int64](n *schema.PrimitiveNode) func(Encoder, T) error {
	if d, ok := n.LogicalType().(schema.DecimalLogicalType); ok {
		return func(enc Encoder, v T) error { return giveDecimal(enc, big.NewInt(int64(v)), d.Scale()) }
	}
	if t, ok := n.LogicalType().(schema.IntLogicalType); ok && !t.IsSigned() {
		return func(enc Encoder, v T) error { enc.Uint(uint64(U(v))); return nil }
	}
	return func(enc Encoder, v T) error { enc.Int(int64(v)); return nil }
}

func giverByteArray(n *schema.PrimitiveNode) func(Encoder, parquet.ByteArray) error {
	if d, ok := n.LogicalType().(schema.DecimalLogicalType); ok {
		return func(enc Encoder, v parquet.ByteArray) error { return giveBigDecimal(enc, v, d.Scale()) }
	}
	if isParquetText(n) {
		return giveText
	}
	return func(enc Encoder, v parquet.ByteArray) error { enc.Bytes(v); return nil }
}

func giveText(enc Encoder, v parquet.ByteArray) error {
	if !utf8.Valid(v) {
		return faultf(ErrSyntax, "a text that is not UTF-8: %.40q", []byte(v))
	}
	enc.String(v)
	return nil
}

func giverFixed(n *schema.PrimitiveNode) func(Encoder, parquet.FixedLenByteArray) error {
	switch d := n.LogicalType().(type) {
	case schema.DecimalLogicalType:
		return func(enc Encoder, v parquet.FixedLenByteArray) error { return giveBigDecimal(enc, v, d.Scale()) }
	case schema.Float16LogicalType:
		return giveFloat16
	}
	return func(enc Encoder, v parquet.FixedLenByteArray) error { enc.Bytes(v); return nil }
}

func giveFloat16(enc Encoder, v parquet.FixedLenByteArray) error {
	if len(v) != 2 {
		return faultf(ErrSyntax, "a half-precision number of %d bytes", len(v))
	}
	enc.Float32(halfFloat(binary.LittleEndian.Uint16(v)))
	return nil
}

// maxDecimal is the maximum size of an unscaled decimal in bytes: 256 bits.
const maxDecimal = 32

// giveBigDecimal decodes two's complement, big-endian.
func giveBigDecimal(enc Encoder, v []byte, scale int32) error {
	if len(v) > maxDecimal {
		return faultf(ErrLimit, "a decimal of %d bytes; at most %d are read", len(v), maxDecimal)
	}
	return giveDecimal(enc, twosComplement(v), scale)
}

// twosComplement decodes a big-endian integer.
func twosComplement(v []byte) *big.Int {
	n := new(big.Int).SetBytes(v)
	if len(v) > 0 && v[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v))))
	}
	return n
}

// giveDecimal encodes n with scale digits after the point, as text.
func giveDecimal(enc Encoder, n *big.Int, scale int32) error {
	if scale < 0 || scale > 100 {
		return faultf(ErrUnsupported, "a decimal with %d digits behind the point", scale)
	}
	sign, digits := "", fmt.Sprintf("%0*d", int(scale)+1, new(big.Int).Abs(n))
	if n.Sign() < 0 {
		sign = "-"
	}
	if point := len(digits) - int(scale); scale > 0 {
		digits = digits[:point] + "." + digits[point:]
	}
	enc.String([]byte(sign + digits))
	return nil
}

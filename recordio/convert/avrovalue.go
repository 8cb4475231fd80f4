package convert

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/hamba/avro/v2"
)

// avroBlock decodes the values of a block. err ends the input; bad is the first reason why a value cannot be in a
// record.
type avroBlock struct {
	buf      []byte
	at       int
	err, bad error
}

func (b *avroBlock) damaged(format string, args ...any) {
	if b.err == nil {
		b.err = faultf(ErrDamaged, format, args...)
	}
	b.at = len(b.buf)
}

// reject notes why the record cannot be made.
func (b *avroBlock) reject(err error) {
	if b.bad == nil {
		b.bad = err
	}
}

func (b *avroBlock) long() int64 {
	v, n := binary.Varint(b.buf[b.at:])
	if n <= 0 {
		b.damaged("a number that the block does not hold whole")
		return 0
	}
	b.at += n
	return v
}

func (b *avroBlock) take(n int64) []byte {
	if n < 0 || n > int64(len(b.buf)-b.at) {
		b.damaged("a value of %d bytes in a block that has %d more", n, len(b.buf)-b.at)
		return nil
	}
	p := b.buf[b.at:][:n]
	b.at += int(n)
	return p
}

// give encodes the next value.
func (b *avroBlock) give(enc Encoder, s avro.Schema, depth int) {
	if depth <= 0 {
		b.damaged("values that are nested too deeply")
	}
	if b.err != nil {
		return
	}
	if decimal, ok := avroLogical(s).(*avro.DecimalLogicalSchema); ok {
		b.giveDecimal(enc, s, decimal.Scale())
		return
	}
	switch s := s.(type) {
	case *avro.RefSchema:
		b.give(enc, s.Schema(), depth)
	case *avro.RecordSchema:
		enc.Map(len(s.Fields()))
		for _, f := range s.Fields() {
			enc.Key(f.Name())
			b.give(enc, f.Type(), depth-1)
		}
		enc.End()
	case *avro.ArraySchema:
		enc.Array(-1)
		b.items(enc, func() { b.give(enc, s.Items(), depth-1) })
		enc.End()
	case *avro.MapSchema:
		enc.Map(-1)
		seen := map[string]bool{}
		b.items(enc, func() {
			key := string(b.take(b.long()))
			if seen[key] || !utf8.ValidString(key) {
				b.reject(faultf(ErrSyntax, "the key %.40q of a map occurs twice, or is not UTF-8", key))
			}
			seen[key] = true
			enc.Key(key)
			b.give(enc, s.Values(), depth-1)
		})
		enc.End()
	case *avro.UnionSchema:
		if i := b.long(); i < 0 || i >= int64(len(s.Types())) {
			b.damaged("member %d of a union of %d", i, len(s.Types()))
		} else {
			b.give(enc, s.Types()[i], depth-1)
		}
	case *avro.EnumSchema:
		i := b.long()
		if name, ok := s.Symbol(int(i)); ok && i >= 0 {
			enc.String([]byte(name))
		} else {
			b.damaged("value %d of an enum of %d", i, len(s.Symbols()))
		}
	case *avro.FixedSchema:
		enc.Bytes(b.take(int64(s.Size())))
	default:
		b.givePlain(enc, s.Type())
	}
}

func (b *avroBlock) givePlain(enc Encoder, kind avro.Type) {
	switch kind {
	case avro.Null:
		enc.Nil()
	case avro.Boolean:
		if p := b.take(1); len(p) == 1 && p[0] > 1 {
			b.damaged("a boolean of value %d", p[0])
		} else {
			enc.Bool(len(p) == 1 && p[0] == 1)
		}
	case avro.Int:
		v := b.long()
		if v != int64(int32(v)) {
			b.damaged("the int %d, which has more than 32 bits", v)
		}
		enc.Int(v)
	case avro.Long:
		enc.Int(b.long())
	case avro.Float:
		if p := b.take(4); p != nil {
			enc.Float32(math.Float32frombits(binary.LittleEndian.Uint32(p)))
		}
	case avro.Double:
		if p := b.take(8); p != nil {
			enc.Float64(math.Float64frombits(binary.LittleEndian.Uint64(p)))
		}
	case avro.Bytes:
		enc.Bytes(b.take(b.long()))
	case avro.String:
		text := b.take(b.long())
		if !utf8.Valid(text) {
			b.reject(faultf(ErrSyntax, "a text that is not UTF-8: %.40q", text))
			text = nil
		}
		enc.String(text)
	}
}

// items calls give for each item of an array or a map, which come in groups. It stops at an error of enc: the
// number of items that take no bytes may be any.
func (b *avroBlock) items(enc Encoder, give func()) {
	for b.err == nil && enc.Err() == nil {
		n := b.long()
		if n < 0 { // the size of the group follows
			b.long()
			n = -n
		}
		if n == 0 {
			return
		}
		if n < 0 {
			b.damaged("a group of %d items", n)
		}
		for i := int64(0); i < n && b.err == nil && enc.Err() == nil; i++ {
			give()
		}
	}
}

// giveDecimal encodes a decimal with all digits of its scale.
func (b *avroBlock) giveDecimal(enc Encoder, s avro.Schema, scale int) {
	size := int64(0)
	if fixed, ok := s.(*avro.FixedSchema); ok {
		size = int64(fixed.Size())
	} else {
		size = b.long()
	}
	if err := giveBigDecimal(enc, b.take(size), int32(scale)); err != nil {
		b.reject(err)
		enc.Nil()
	}
}

package convert

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"github.com/hamba/avro/v2"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// avroFormat reads object container files of Avro. The record is a record, as a map by field. Files are
// read in order, so also from a pipe. Memory is one block.
var avroFormat = Format{
	Name:       "avro",
	Doc:        "Avro, object container files: a record, as a map by field",
	Extensions: []string{".avro"},
	Sniff:      func(head []byte) bool { return bytes.HasPrefix(head, []byte(avroMark)) },
	open:       func(in Input, opts Options) (Decoder, error) { return openAvro(in, opts.Limits.withDefaults()) },
}

const (
	avroMark     = "Obj\x01"
	avroSyncSize = 16
	maxAvroKeys  = 1 << 10 // in the header
)

// avroDecoder decodes one block after the other.
type avroDecoder struct {
	c      *counter
	most   int // bytes of a block
	depth  int
	schema *avro.RecordSchema
	list   []Column
	codec  string
	sync   string

	stored []byte
	block  avroBlock
	number int64 // of the block, from 1
	start  int64 // of the block in the file
	rows   int64 // left in the block
	n      int64
}

func openAvro(in Input, limits Limits) (*avroDecoder, error) {
	// A block that is longer than a record is usual; each writer has a size of its own.
	d := &avroDecoder{c: newCounter(in.Reader), most: 4 * limits.Record, depth: limits.Depth}
	header, err := d.header(limits.Record)
	if err != nil {
		return nil, err
	}
	d.codec = header["avro.codec"]
	switch d.codec {
	case "", "null", "deflate", "snappy", "zstandard":
	default:
		return nil, faultf(ErrUnsupported, "blocks compressed with %.40q: null, deflate, snappy and zstandard are read", d.codec)
	}
	var schema avro.Schema
	err = guard(func() (err error) { // a cache of its own: names of one file mean nothing in another
		schema, err = avro.ParseWithCache(header["avro.schema"], "", &avro.SchemaCache{})
		return err
	})
	if err != nil {
		return nil, faultf(ErrDamaged, "the schema of the file: %v", err)
	}
	record, ok := schema.(*avro.RecordSchema)
	if !ok || len(record.Fields()) == 0 {
		return nil, faultf(ErrUnsupported, "values of Avro's type %s: only records with fields are read", schema.Type())
	}
	d.schema = record
	for _, f := range record.Fields() {
		typ, err := avroType(f.Type(), []string{record.FullName()}, d.depth)
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", f.Name(), err)
		}
		d.list = append(d.list, Column{Name: f.Name(), Type: typ})
	}
	return d, nil
}

// header reads the description of the file: a map of texts, and the bytes that end each block.
func (d *avroDecoder) header(most int) (map[string]string, error) {
	mark, err := d.c.need(nil, len(avroMark), "the mark of Avro")
	if err != nil {
		return nil, err
	}
	if string(mark) != avroMark {
		return nil, faultf(ErrDamaged, "it does not begin as a file of Avro does")
	}
	header := map[string]string{}
	for {
		n, err := d.long()
		if n < 0 && err == nil { // the size of the entries follows
			n = -n
			_, err = d.long()
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
		if n < 0 || n > maxAvroKeys {
			return nil, faultf(ErrDamaged, "a header of %d entries", n)
		}
		for range n {
			key, err := d.text(most)
			if err != nil {
				return nil, err
			}
			value, err := d.text(most)
			if err != nil {
				return nil, err
			}
			if header[key] = value; len(header) > maxAvroKeys {
				return nil, faultf(ErrDamaged, "a header of more than %d entries", maxAvroKeys)
			}
		}
	}
	sync, err := d.c.need(nil, avroSyncSize, "the sync marker")
	d.sync = string(sync)
	return header, err
}

// long reads a number of the file.
func (d *avroDecoder) long() (int64, error) {
	var b [binary.MaxVarintLen64]byte
	for i := range b {
		next, err := d.c.ReadByte()
		if err != nil {
			return 0, d.c.failed(err, "a number")
		}
		if b[i] = next; next < 0x80 {
			v, _ := binary.Varint(b[:i+1])
			return v, nil
		}
	}
	return 0, faultf(ErrDamaged, "a number of more than 64 bits at offset %d", d.c.off)
}

func (d *avroDecoder) text(most int) (string, error) {
	n, err := d.long()
	if err != nil {
		return "", err
	}
	if n < 0 || n > int64(most) {
		return "", faultf(ErrDamaged, "a text of %d bytes in the header", n)
	}
	b, err := d.c.need(nil, int(n), "the header")
	return string(b), err
}

// columns implements described.
func (d *avroDecoder) columns() []Column { return d.list }

func (d *avroDecoder) Next(enc Encoder) error {
	for d.rows == 0 {
		if err := d.nextBlock(); err != nil {
			if err == io.EOF {
				return err
			}
			return fmt.Errorf("after row %d: %w", d.n, err)
		}
	}
	d.rows--
	d.n++
	d.block.bad = nil
	d.block.give(enc, d.schema, d.depth)
	last := d.rows == 0 && d.block.err == nil && d.block.at < len(d.block.buf)
	switch {
	case last:
		return faultf(ErrDamaged, "block %d at offset %d: %d bytes are left after its last record", d.number, d.start, len(d.block.buf)-d.block.at)
	case d.block.err != nil:
		return fmt.Errorf("row %d, block %d at offset %d: %w", d.n, d.number, d.start, d.block.err)
	case d.block.bad != nil:
		return &RecordError{Row: d.n, Offset: -1, Err: d.block.bad}
	}
	return nil
}

// nextBlock reads and decompresses the next block. It returns io.EOF after the last.
func (d *avroDecoder) nextBlock() error {
	d.start = d.c.off
	if _, err := d.c.r.Peek(1); err == io.EOF {
		return err
	}
	d.number++
	rows, err := d.long()
	if err != nil {
		return err
	}
	size, err := d.long()
	switch {
	case err != nil:
		return err
	case rows < 0 || size < 0:
		return faultf(ErrDamaged, "block %d at offset %d: %d records in %d bytes", d.number, d.start, rows, size)
	case size > int64(d.most):
		return faultf(ErrLimit, "block %d at offset %d has %d bytes; at most %d are read", d.number, d.start, size, d.most)
	}
	if d.stored, err = d.c.need(d.stored, int(size), "a block"); err != nil {
		return err
	}
	sync, err := d.c.need(nil, avroSyncSize, "the sync marker of a block")
	if err != nil {
		return err
	}
	if string(sync) != d.sync {
		return faultf(ErrDamaged, "block %d at offset %d does not end with the sync marker", d.number, d.start)
	}
	data, err := d.decompress(d.stored)
	if err != nil {
		return fmt.Errorf("block %d at offset %d: %w", d.number, d.start, err)
	}
	if rows > maxEmptyRows && rows > int64(len(data)) {
		return faultf(ErrLimit, "block %d at offset %d: %d records have no bytes; at most %d are read", d.number, d.start, rows, maxEmptyRows)
	}
	if rows == 0 && len(data) > 0 {
		return faultf(ErrDamaged, "block %d at offset %d has %d bytes and no record", d.number, d.start, len(data))
	}
	d.block, d.rows = avroBlock{buf: data}, rows
	return nil
}

// decompress returns the records of a block, at most d.most bytes.
func (d *avroDecoder) decompress(stored []byte) ([]byte, error) {
	var r io.Reader
	switch d.codec {
	case "deflate":
		r = flate.NewReader(bytes.NewReader(stored))
	case "snappy":
		return d.unsnap(stored)
	case "zstandard":
		z, err := zstd.NewReader(bytes.NewReader(stored), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(d.most)))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		r = z
	default:
		return stored, nil
	}
	data, err := io.ReadAll(io.LimitReader(r, int64(d.most)+1))
	switch {
	case err != nil:
		return nil, faultf(ErrDamaged, "%s: %v", d.codec, err)
	case len(data) > d.most:
		return nil, faultf(ErrLimit, "more than %d bytes when decompressed", d.most)
	}
	return data, nil
}

// unsnap decompresses a block of snappy, behind which is the checksum of its data.
func (d *avroDecoder) unsnap(stored []byte) ([]byte, error) {
	const sumSize = 4
	body := stored[:max(0, len(stored)-sumSize)]
	n, err := snappy.DecodedLen(body)
	switch {
	case len(stored) < sumSize || err != nil:
		return nil, faultf(ErrDamaged, "snappy: the data is damaged")
	case n > d.most:
		return nil, faultf(ErrLimit, "%d bytes when decompressed; at most %d are read", n, d.most)
	}
	data, err := snappy.Decode(nil, body)
	if err != nil {
		return nil, faultf(ErrDamaged, "snappy: %v", err)
	}
	if crc32.ChecksumIEEE(data) != binary.BigEndian.Uint32(stored[len(body):]) {
		return nil, faultf(ErrChecksum, "its bytes do not match the checksum")
	}
	return data, nil
}

// avroType names a type as in the manifest. within are the names of the records that it is in.
func avroType(s avro.Schema, within []string, depth int) (string, error) {
	if depth <= 0 {
		return "", faultf(ErrUnsupported, "types that are nested too deeply")
	}
	if logical := avroLogical(s); logical != nil {
		if decimal, ok := logical.(*avro.DecimalLogicalSchema); ok {
			return fmt.Sprintf("%s(%d,%d)", decimalType, decimal.Precision(), decimal.Scale()), nil
		}
		if typ := avroTimes[logical.Type()]; typ != "" {
			return typ, nil
		}
	}
	switch s := s.(type) {
	case *avro.RefSchema:
		return avroType(s.Schema(), within, depth)
	case *avro.RecordSchema:
		return avroRecordType(s, within, depth)
	case *avro.ArraySchema:
		typ, err := avroType(s.Items(), within, depth-1)
		return "list<" + typ + ">", err
	case *avro.MapSchema:
		typ, err := avroType(s.Values(), within, depth-1)
		return "map<" + typ + ">", err
	case *avro.UnionSchema:
		return avroUnionType(s, within, depth)
	}
	if typ := avroPlain[s.Type()]; typ != "" {
		return typ, nil
	}
	return "", faultf(ErrUnsupported, "values of Avro's type %s", s.Type())
}

var avroPlain = map[avro.Type]string{
	avro.Null: nullType, avro.Boolean: TypeBool.String(), avro.Int: TypeInt.String(), avro.Long: TypeInt.String(),
	avro.Float: TypeFloat32.String(), avro.Double: TypeFloat.String(), avro.String: TypeText.String(), avro.Enum: TypeText.String(),
	avro.Bytes: TypeBytes.String(), avro.Fixed: TypeBytes.String(),
}

var avroTimes = map[avro.LogicalType]string{
	avro.Date: "date", avro.TimeMillis: "time[ms]", avro.TimeMicros: "time[us]",
	avro.TimestampMillis: "timestamp[ms,UTC]", avro.TimestampMicros: "timestamp[us,UTC]",
	avro.LocalTimestampMillis: "timestamp[ms]", avro.LocalTimestampMicros: "timestamp[us]",
}

func avroLogical(s avro.Schema) avro.LogicalSchema {
	if l, ok := s.(avro.LogicalTypeSchema); ok {
		return l.Logical()
	}
	return nil
}

func avroRecordType(s *avro.RecordSchema, within []string, depth int) (string, error) {
	for _, name := range within {
		if name == s.FullName() {
			return "", faultf(ErrUnsupported, "the type %s, which contains itself", name)
		}
	}
	var fields []string
	for _, f := range s.Fields() {
		typ, err := avroType(f.Type(), append(within[:len(within):len(within)], s.FullName()), depth-1)
		if err != nil {
			return "", err
		}
		fields = append(fields, fieldText(f.Name(), typ))
	}
	return "struct<" + strings.Join(fields, ", ") + ">", nil
}

// avroUnionType names the type that the members of a union have in common, besides null.
func avroUnionType(s *avro.UnionSchema, within []string, depth int) (string, error) {
	found := nullType
	for _, member := range s.Types() {
		typ, err := avroType(member, within, depth-1)
		switch {
		case err != nil:
			return "", err
		case typ == nullType || typ == found:
		case found == nullType:
			found = typ
		case found == TypeFloat32.String() && typ == TypeFloat.String(), found == TypeFloat.String() && typ == TypeFloat32.String():
			found = TypeFloat.String()
		default:
			return "", faultf(ErrUnsupported, "a union of %s and %s: a column has one type", found, typ)
		}
	}
	return found, nil
}

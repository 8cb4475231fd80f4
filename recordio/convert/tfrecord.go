package convert

import (
	"encoding/binary"
	"hash/crc32"
)

// tfrecordFormat reads TFRecord files of tf.train.Example or SequenceExample. The record is a map
// of the features: bytes lists become arrays of bytes, int64 and float lists become tensors, so
// that the type of a feature does not depend on its length. A SequenceExample is a map of
// "context", such a map, and "feature_lists", a map of arrays.
//
// Both checksums of every record are verified. If the checksum of a length fails, the input ends,
// because the position of the next record is unknown.
var tfrecordFormat = Format{
	Name:       "tfrecord",
	Doc:        "TFRecord of tf.train.Example or SequenceExample: the features, as a map",
	Extensions: []string{".tfrecord", ".tfrecords"},
	Sniff:      isTFRecord,
	open: func(in Input, opts Options) (Decoder, error) {
		records := newTFRecords(in, opts)
		return &tfDecoder{records: records, encode: func(enc Encoder, record []byte) error {
			return exampleEncoder{enc, records.limit}.example(record)
		}}, nil
	},
}

// tfrecordRawFormat reads TFRecord files with any content.
var tfrecordRawFormat = Format{
	Name: "tfrecord-raw",
	Doc:  "TFRecord of anything: the bytes of the record",
	open: func(in Input, opts Options) (Decoder, error) {
		return &tfDecoder{records: newTFRecords(in, opts), encode: encodeBytes}, nil
	},
}

func encodeBytes(enc Encoder, b []byte) error {
	enc.Bytes(b)
	return nil
}

// tfHead is the size of a record's header: its length and the checksum of the length.
const tfHead = 12

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maskedCRC is the checksum of TFRecord: CRC-32C, rotated and offset so that data with embedded
// checksums does not get a regular checksum itself.
func maskedCRC(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// isTFRecord verifies the checksum of the first length.
func isTFRecord(head []byte) bool {
	return len(head) >= tfHead && maskedCRC(head[:8]) == binary.LittleEndian.Uint32(head[8:])
}

// tfRecords reads the records of a file in order.
type tfRecords struct {
	c     *counter
	limit int
	n     int64
	buf   []byte
}

func newTFRecords(in Input, opts Options) *tfRecords {
	return &tfRecords{c: newCounter(in.Reader), limit: opts.Limits.withDefaults().Record}
}

// next returns the next record and its offset. Its bytes are valid until the next call.
func (t *tfRecords) next() (record []byte, start int64, err error) {
	start = t.c.off
	if t.buf, err = t.c.take(t.buf, tfHead, "the length of a record"); err != nil {
		return nil, start, err
	}
	t.n++
	if !isTFRecord(t.buf) {
		return nil, start, faultf(ErrChecksum, "record %d at offset %d: its length does not match the checksum, so the position of the next one is unknown", t.n, start)
	}
	n := binary.LittleEndian.Uint64(t.buf)
	if n > uint64(t.limit) {
		return nil, start, t.skip(n, start)
	}
	if t.buf, err = t.c.need(t.buf, int(n)+4, "a record"); err != nil {
		return nil, start, err
	}
	if maskedCRC(t.buf[:n]) != binary.LittleEndian.Uint32(t.buf[n:]) {
		return nil, start, t.bad(start, faultf(ErrChecksum, "its %d bytes do not match their checksum", n))
	}
	return t.buf[:n], start, nil
}

// skip skips a record that is larger than the limit.
func (t *tfRecords) skip(n uint64, start int64) error {
	if err := t.c.skip(int64(min(n, 1<<62))+4, "a record"); err != nil {
		return err
	}
	return t.bad(start, faultf(ErrLimit, "%d bytes are over the limit of %d for a record", n, t.limit))
}

func (t *tfRecords) bad(start int64, err error) error {
	return &RecordError{Row: t.n, Offset: start, Err: err}
}

// tfDecoder gives the records of a file.
type tfDecoder struct {
	records *tfRecords
	encode  func(enc Encoder, record []byte) error
}

func (d *tfDecoder) Next(enc Encoder) error {
	record, start, err := d.records.next()
	if err != nil {
		return err
	}
	if err := d.encode(enc, record); err != nil {
		return d.records.bad(start, err)
	}
	return nil
}

package convert

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/apache/thrift/lib/go/thrift"
)

// maxSchemaDepth is the maximum nesting of a schema.
const maxSchemaDepth = 256

// checkParquetFooter checks what the library would trust: it allocates as many elements as lists
// and the schema state, and recurses as deep as the schema.
func checkParquetFooter(in Input, limit int) error {
	tail := make([]byte, 8)
	if in.Size < 12 {
		return faultf(ErrTruncated, "not a Parquet file: %d bytes are too few for one", in.Size)
	}
	if n, err := in.ReaderAt.ReadAt(tail, in.Size-8); n < len(tail) {
		return fmt.Errorf("read the end of the file: %w", err)
	}
	size := int64(binary.LittleEndian.Uint32(tail))
	switch {
	case string(tail[4:]) == "PARE":
		return faultf(ErrUnsupported, "an encrypted Parquet file")
	case string(tail[4:]) != parquetMark:
		return faultf(ErrTruncated, "the file does not end with %s: it was never finished, or it is cut off", parquetMark)
	case size > in.Size-12:
		return faultf(ErrDamaged, "a footer of %d bytes in a file of %d", size, in.Size)
	case size > int64(limit):
		return faultf(ErrLimit, "a footer of %d bytes; the limit is %d", size, limit)
	}
	footer := make([]byte, size)
	if n, err := in.ReaderAt.ReadAt(footer, in.Size-8-size); n < len(footer) {
		return fmt.Errorf("read the footer: %w", err)
	}
	return checkFileMetaData(footer)
}

// checkFileMetaData checks the bounds of all values in the footer, and its schema.
func checkFileMetaData(footer []byte) error {
	var children []int64
	w := newThriftReader(footer)
	err := w.structure(func(id int16, typ thrift.TType) error {
		if id != fieldSchema || typ != thrift.LIST {
			return w.skip(typ)
		}
		element, n, err := w.ReadListBegin(noContext)
		for ; n > 0 && err == nil; n-- {
			if element != thrift.STRUCT {
				return errFooter
			}
			children = append(children, 0)
			err = w.structure(func(id int16, typ thrift.TType) error {
				if id != fieldNumChildren || typ != thrift.I32 {
					return w.skip(typ)
				}
				return w.integer(&children[len(children)-1])
			})
		}
		return err
	})
	if err != nil {
		return errFooter
	}
	return checkSchemaTree(children)
}

var errFooter = faultf(ErrDamaged, "the footer is damaged")

// The footer fields used here, by their numbers in parquet.thrift.
const (
	fieldSchema      = 2 // of FileMetaData: list of SchemaElement
	fieldNumChildren = 5 // of SchemaElement: i32
)

// checkSchemaTree checks a tree written depth first, as numbers of children.
func checkSchemaTree(children []int64) error {
	var open []int64 // number of children still expected at each level
	for i, n := range children {
		if n < 0 || n > int64(len(children)-i-1) {
			return faultf(ErrDamaged, "element %d of the schema has %d children, and only %d follow", i, n, len(children)-i-1)
		}
		for len(open) > 0 && open[len(open)-1] == 0 {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			open[len(open)-1]--
		}
		if open = append(open, n); len(open) > maxSchemaDepth {
			return faultf(ErrLimit, "a schema that nests deeper than %d", maxSchemaDepth)
		}
	}
	return nil
}

// noContext is for the protocol, which reads from memory.
var noContext = context.Background()

// maxThriftDepth is the maximum nesting of values; a footer needs less than ten levels.
const maxThriftDepth = 64

// thriftReader walks over values of thrift's compact protocol. Lengths that the bytes do not have
// are errors before memory is allocated for them.
type thriftReader struct {
	*thrift.TCompactProtocol
	rest *bytes.Buffer
}

func newThriftReader(b []byte) thriftReader {
	rest := bytes.NewBuffer(b)
	return thriftReader{thrift.NewTCompactProtocolConf(&thrift.TMemoryBuffer{Buffer: rest}, nil), rest}
}

// structure calls field for each field of a struct; field must read the value.
func (w thriftReader) structure(field func(id int16, typ thrift.TType) error) error {
	if _, err := w.ReadStructBegin(noContext); err != nil {
		return err
	}
	for {
		_, typ, id, err := w.ReadFieldBegin(noContext)
		if err == nil && typ == thrift.STOP {
			return w.ReadStructEnd(noContext)
		}
		if err == nil {
			err = field(id, typ)
		}
		if err != nil {
			return err
		}
	}
}

func (w thriftReader) skip(typ thrift.TType) error {
	return thrift.Skip(noContext, w, typ, maxThriftDepth)
}

// integer reads an i32.
func (w thriftReader) integer(n *int64) error {
	v, err := w.ReadI32(noContext)
	*n = int64(v)
	return err
}

package hdfsfs

import (
	"fmt"
	"slices"

	"github.com/paddlecloud/pfs/pfs"
	"google.golang.org/protobuf/encoding/protowire"
)

// writeRequest is an OpWriteBlockProto.
type writeRequest struct {
	rest    []byte // all fields but those about the other DataNodes
	targets []target
}

// target is a DataNode of a pipeline after the first one.
type target struct {
	address string // where it is reached
	numeric string // its IP address and port, by which DataNodes name each other
	raw     []byte // DatanodeInfoProto
}

// Numbers of the fields of an OpWriteBlockProto that are looked at.
const (
	fieldTargets      = 2
	fieldPipelineSize = 5
)

// parseWriteRequest parses an OpWriteBlockProto, preceded by its length.
func parseWriteRequest(p []byte, byName bool) (*writeRequest, error) {
	body, n := protowire.ConsumeBytes(p)
	if n < 0 {
		return nil, errMalformed
	}
	q := &writeRequest{}
	for len(body) > 0 {
		number, kind, n := protowire.ConsumeField(body)
		if n < 0 {
			return nil, errMalformed
		}
		field := body[:n]
		body = body[n:]
		switch {
		case number == fieldTargets && kind == protowire.BytesType:
			t, err := parseTarget(field, byName)
			if err != nil {
				return nil, err
			}
			q.targets = append(q.targets, t)
		case number != fieldPipelineSize:
			q.rest = append(q.rest, field...)
		}
	}
	return q, nil
}

// parseTarget reads a field that holds a DatanodeInfoProto.
func parseTarget(field []byte, byName bool) (t target, err error) {
	if t.raw, err = inside(field, fieldTargets); err != nil {
		return t, err
	}
	id, err := inside(t.raw, 1)
	if err != nil {
		return t, err
	}
	var ip, host string
	var port uint64
	err = fields(id, func(number protowire.Number, v uint64, b []byte) {
		switch number {
		case 1:
			ip = string(b)
		case 2:
			host = string(b)
		case 4:
			port = v
		}
	})
	t.numeric = fmt.Sprintf("%s:%d", ip, port)
	t.address = t.numeric
	if byName {
		t.address = fmt.Sprintf("%s:%d", host, port)
	}
	return t, err
}

func (q *writeRequest) addresses() []string {
	var all []string
	for _, t := range q.targets {
		all = append(all, t.address)
	}
	return all
}

// drop leaves targets out.
func (q *writeRequest) drop(addresses []string) {
	q.targets = slices.DeleteFunc(q.targets, func(t target) bool { return slices.Contains(addresses, t.address) })
}

// named returns the address of the target that a DataNode calls numeric.
func (q *writeRequest) named(numeric string) string {
	for _, t := range q.targets {
		if t.numeric == numeric {
			return t.address
		}
	}
	return ""
}

// encode returns the encoded request.
func (q *writeRequest) encode() []byte {
	body := append([]byte(nil), q.rest...)
	for _, t := range q.targets {
		body = protowire.AppendBytes(protowire.AppendTag(body, fieldTargets, protowire.BytesType), t.raw)
	}
	body = protowire.AppendVarint(protowire.AppendTag(body, fieldPipelineSize, protowire.VarintType), uint64(len(q.targets)))
	return protowire.AppendBytes([]byte{0, transferVersion, opWriteBlock}, body)
}

// refusal returns the error of a DataNode that did not build the pipeline, from its
// BlockOpResponseProto, or nil if it did. bad is the DataNode that it blames.
func refusal(p []byte) (bad string, err error) {
	var status uint64
	var text string
	malformed := fields(p, func(number protowire.Number, v uint64, b []byte) {
		switch number {
		case 1:
			status = v
		case 2:
			bad = string(b)
		case 5:
			text = string(b)
		}
	})
	switch {
	case malformed != nil:
		return "", malformed
	case status == 0:
		return "", nil
	case text == "" && bad != "":
		text = "it cannot be reached by the DataNode before it"
	case text == "":
		text = fmt.Sprintf("it does not take the block (status %d)", status)
	}
	return bad, pfs.Errorf("hdfsfs.attempt", "", pfs.Unavailable, "%s", text)
}

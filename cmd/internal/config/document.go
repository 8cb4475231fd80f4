package config

import (
	"bytes"

	"go.yaml.in/yaml/v3"
)

// document is the file's YAML tree, changed in place to keep comments and order.
type document struct {
	root *yaml.Node
	top  *yaml.Node // the mapping
}

// newDocument wraps root, or makes an empty document if root is nil.
func newDocument(root *yaml.Node) *document {
	if root == nil {
		root = &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode, Tag: "!!map"}}}
	}
	return &document{root: root, top: root.Content[0]}
}

func (d *document) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(d.root); err != nil {
		return nil, err
	}
	return b.Bytes(), enc.Close()
}

// entries returns the list of datacenters, making it if necessary.
func (d *document) entries() *yaml.Node {
	list := get(d.top, keyDatacenters)
	if list == nil {
		list = &yaml.Node{}
		// First, as people write it.
		d.top.Content = append([]*yaml.Node{scalar(keyDatacenters), list}, d.top.Content...)
	}
	if list.Kind != yaml.SequenceNode {
		*list = yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	}
	list.Style &^= yaml.FlowStyle // an empty "[]" cannot hold block entries
	return list
}

// entry returns the mapping of the datacenter name, making it if necessary.
func (d *document) entry(name string) *yaml.Node {
	list := d.entries()
	for _, n := range list.Content {
		if v := get(n, "name"); v != nil && v.Value == name {
			return n
		}
	}
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	list.Content = append(list.Content, n)
	return n
}

// get returns the value of a key of the mapping m, or nil.
func get(m *yaml.Node, key string) *yaml.Node {
	if m.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	return nil
}

// set sets key of the mapping m, or removes it if value is nil. It keeps a comment on the line.
func set(m *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value != key {
			continue
		}
		if value == nil {
			m.Content = append(m.Content[:i], m.Content[i+2:]...)
			return
		}
		old := m.Content[i+1]
		value.LineComment, value.FootComment = old.LineComment, old.FootComment
		m.Content[i+1] = value
		return
	}
	if value != nil {
		m.Content = append(m.Content, scalar(key), value)
	}
}

// scalar makes a string, quoted if it would parse as something else.
func scalar(text string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(text)
	return n
}

// boolean makes true or false.
func boolean(on bool) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "false"}
	if on {
		n.Value = "true"
	}
	return n
}

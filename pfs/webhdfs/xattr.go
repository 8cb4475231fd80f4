package webhdfs

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// checkXattrName refuses names that Hadoop refuses.
func checkXattrName(name string) error {
	space, rest, ok := strings.Cut(name, ".")
	switch strings.ToLower(space) {
	case "user", "trusted", "security", "system", "raw":
		if ok && rest != "" {
			return nil
		}
	}
	return exception{hadoopIllegal, "An XAttr name must be prefixed with user/trusted/security/system/raw, followed by a '.'", 400}
}

// getXattrs carries out GETXATTRS, of the named attributes or of all.
func getXattrs(ctx context.Context, c *call) (answer, error) {
	encoding := strings.ToLower(c.params.text("encoding"))
	names := url.Values(c.params)["xattr.name"]
	for _, n := range names {
		if err := checkXattrName(n); err != nil {
			return answer{}, err
		}
	}
	kept, err := c.xattrs(ctx)
	if err != nil {
		return answer{}, err
	}
	if len(names) == 0 {
		if names, err = kept.ListXattr(ctx, c.path); err != nil {
			return answer{}, noXattrs(err)
		}
	}
	list := []any{}
	for i, n := range names {
		if slices.Index(names, n) < i {
			continue // else a short request that repeats a name had a long answer
		}
		value, err := kept.Xattr(ctx, c.path, n)
		if isKind(err, pfs.NoAttr) {
			return answer{}, forbidden(noSuchXattr, "At least one of the attributes provided was not found.")
		}
		if err != nil {
			return answer{}, err
		}
		text, err := encodeXattr(value, encoding)
		if err != nil {
			return answer{}, err
		}
		list = append(list, map[string]any{"name": n, "value": text})
	}
	return answer{body: named("XAttrs", list)}, nil
}

// xattrs returns the attributes of the tree, if the path exists.
func (c *call) xattrs(ctx context.Context) (pfs.XattrKeeper, error) {
	_, err := c.stat(ctx)
	return pfs.XattrsOf(c.fs()), err
}

// noXattrs is nil for a store without attributes, where there are none to list.
func noXattrs(err error) error {
	if isKind(err, pfs.Unsupported) {
		return nil
	}
	return err
}

// listXattrs carries out LISTXATTRS.
func listXattrs(ctx context.Context, c *call) (answer, error) {
	kept, err := c.xattrs(ctx)
	if err != nil {
		return answer{}, err
	}
	names, err := kept.ListXattr(ctx, c.path)
	if names == nil {
		names = []string{}
	}
	return answer{body: named("XAttrNames", string(encode(names)))}, noXattrs(err)
}

// setXattr carries out SETXATTR.
func setXattr(ctx context.Context, c *call) (answer, error) {
	name := c.params.text("xattr.name")
	if err := checkXattrName(name); err != nil {
		return answer{}, err
	}
	value, err := decodeXattr(c.params.text("xattr.value"))
	if err != nil {
		return answer{}, err
	}
	var flags pfs.XattrFlags
	for f := range strings.SplitSeq(strings.ToUpper(c.params.text("flag")), ",") {
		switch strings.TrimSpace(f) {
		case "CREATE":
			flags |= pfs.XattrCreate
		case "REPLACE":
			flags |= pfs.XattrReplace
		case "":
		default:
			return answer{}, badParam("flag", "No enum constant org.apache.hadoop.fs.XAttrSetFlag."+f)
		}
	}
	if flags == pfs.XattrCreate|pfs.XattrReplace {
		flags = 0
	}
	err = pfs.XattrsOf(c.fs()).SetXattr(ctx, c.path, name, value, flags)
	switch {
	case isKind(err, pfs.Exist):
		err = forbidden(ioException, "XAttr: %s already exists. The REPLACE flag must be specified.", name)
	case isKind(err, pfs.NoAttr):
		err = forbidden(ioException, "XAttr: %s does not exist. The CREATE flag must be specified.", name)
	}
	return answer{}, err
}

// removeXattr carries out REMOVEXATTR.
func removeXattr(ctx context.Context, c *call) (answer, error) {
	name := c.params.text("xattr.name")
	if err := checkXattrName(name); err != nil {
		return answer{}, err
	}
	err := pfs.XattrsOf(c.fs()).RemoveXattr(ctx, c.path, name)
	if isKind(err, pfs.NoAttr) {
		err = forbidden(ioException, "No matching attributes found for remove operation")
	}
	return answer{}, err
}

// encodeXattr and decodeXattr are XAttrCodec of Hadoop.
func encodeXattr(value []byte, encoding string) (string, error) {
	switch encoding {
	case "text":
		return `"` + string(value) + `"`, nil
	case "", "hex":
		return "0x" + hex.EncodeToString(value), nil
	case "base64":
		return "0s" + base64.StdEncoding.EncodeToString(value), nil
	}
	return "", badParam("encoding", "No enum constant org.apache.hadoop.fs.XAttrCodec."+strings.ToUpper(encoding))
}

func decodeXattr(text string) ([]byte, error) {
	var value []byte
	var err error
	switch {
	case len(text) >= 2 && text[0] == '"' && text[len(text)-1] == '"':
		return []byte(text[1 : len(text)-1]), nil
	case strings.HasPrefix(strings.ToLower(text), "0x"):
		value, err = hex.DecodeString(text[2:])
	case strings.HasPrefix(strings.ToLower(text), "0s"):
		value, err = base64.StdEncoding.DecodeString(text[2:])
	default:
		return []byte(text), nil
	}
	if err != nil {
		return nil, badParam("xattr.value", err.Error())
	}
	return value, nil
}

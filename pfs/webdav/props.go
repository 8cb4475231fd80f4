package webdav

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/pfs"
)

// The properties of quotas (RFC 4331), which allprop leaves out.
const (
	quotaAvailable = "quota-available-bytes"
	quotaUsed      = "quota-used-bytes"
)

// allProps are the properties of allprop, in the order of the answer.
var allProps = []string{"resourcetype", "displayname", "getcontentlength", "getlastmodified", "getcontenttype", "getetag", "supportedlock"}

// wants reports whether the request names one of the properties of DAV:.
func (p propfindRequest) wants(props ...string) bool {
	return slices.ContainsFunc(append(slices.Clip(p.Prop), p.Include...), func(n xml.Name) bool { return n.Space == "DAV:" && slices.Contains(props, n.Local) })
}

// properties writes the answer of a PROPFIND.
type properties struct {
	asked propfindRequest
	quota quota // of the directory itself
	out   bytes.Buffer
}

// quota is the room in a directory.
type quota struct {
	known           bool
	available, used int64
}

// response writes the properties of one file or directory.
func (p *properties) response(href string, info pfs.Info) {
	if info.IsDir() && href[len(href)-1] != '/' {
		href += "/"
	}
	p.out.WriteString("<D:response><D:href>")
	p.text(href)
	p.out.WriteString("</D:href><D:propstat><D:prop>")
	var missing []xml.Name
	if p.asked.Allprop != nil || p.asked.Propname != nil {
		for _, name := range allProps {
			if value, ok := p.value(name, info); ok {
				p.element(name, value)
			}
		}
	}
	for _, name := range append(slices.Clip(p.asked.Prop), p.asked.Include...) {
		value, ok := p.value(name.Local, info)
		if ok && name.Space == "DAV:" {
			p.element(name.Local, value)
		} else {
			missing = append(missing, name)
		}
	}
	p.status(http.StatusOK)
	if len(missing) > 0 {
		p.out.WriteString("<D:propstat><D:prop>")
		for _, name := range missing {
			p.out.WriteByte('<')
			p.text(name.Local)
			p.out.WriteString(` xmlns="`)
			p.text(name.Space)
			p.out.WriteString(`"/>`)
		}
		p.status(http.StatusNotFound)
	}
	p.out.WriteString("</D:response>\n")
	p.quota = quota{} // the entries have none of their own
}

func (p *properties) status(code int) {
	fmt.Fprintf(&p.out, "</D:prop><D:status>HTTP/1.1 %d %s</D:status></D:propstat>", code, http.StatusText(code))
}

func (p *properties) element(name, value string) {
	if p.asked.Propname != nil {
		value = ""
	}
	fmt.Fprintf(&p.out, "<D:%s>%s</D:%s>", name, value, name)
}

func (p *properties) text(s string) { _ = xml.EscapeText(&p.out, []byte(s)) }

// value returns a property as XML.
func (p *properties) value(name string, info pfs.Info) (value string, ok bool) {
	file := !info.IsDir()
	switch name {
	case "resourcetype":
		if file {
			return "", true
		}
		return "<D:collection/>", true
	case "displayname":
		return escaped(info.Name), true
	case "getcontentlength":
		return strconv.FormatInt(info.Size, 10), file
	case "getlastmodified":
		return info.ModTime.UTC().Format(http.TimeFormat), !info.ModTime.IsZero()
	case "getcontenttype":
		return escaped(contentType(info)), file
	case "getetag":
		return escaped(gateway.ETag(info)), file && info.Version != ""
	case "supportedlock":
		return "<D:lockentry><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>", true
	case quotaAvailable:
		return strconv.FormatInt(p.quota.available, 10), p.quota.known
	case quotaUsed:
		return strconv.FormatInt(p.quota.used, 10), p.quota.known
	}
	return "", false
}

func escaped(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}

// quota returns the room in the request's directory: that of the nearest quota at or above it, or of the store.
func (q *request) quota() (room quota, err error) {
	err = q.do("space", func(ctx context.Context, fsys pfs.FileSystem) error {
		space, err := pfs.SpaceOf(ctx, fsys, q.name)
		if is(err, pfs.Unsupported, pfs.Invalid) {
			return nil // above the stores, or a store that cannot tell
		}
		if err != nil {
			return err
		}
		room = quota{known: true, available: space.Free, used: space.Used}
		can, err := pfs.CapabilitiesOf(ctx, fsys, q.name)
		if err != nil || !can.Has(pfs.CanUsage) {
			return err
		}
		for dir := q.name; dir != pfs.Root; dir = dir.Parent() {
			u, err := pfs.UsageOf(ctx, fsys, dir)
			if err != nil {
				break // the user may not look further up
			}
			if u.MaxBytes > 0 {
				room.available, room.used = min(room.available, max(0, u.MaxBytes-u.Bytes)), u.Bytes
				break
			}
		}
		return nil
	})
	return room, err
}

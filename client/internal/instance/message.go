package instance

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"net/netip"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/seedmq/seedmq/remoting/protocol"
)

// MaxBody is the largest body that Inflate makes, a guard against bodies made to fill the memory.
const MaxBody = 128 << 20

// Message is a stored message, with its body as the sender gave it. It owns all its bytes.
type Message struct {
	Topic      string
	BrokerName string // where it was read, "" when the server did not say
	Properties protocol.Properties
	Body       []byte

	QueueID                   int32
	QueueOffset               int64
	CommitLogOffset           int64
	StoreSize                 int32 // bytes of the record
	Flag                      int32
	SysFlag                   int32
	BodyCRC                   int32
	ReconsumeTimes            int32
	BornTimestamp             int64 // ms since 1970
	BornHost                  netip.AddrPort
	StoreTimestamp            int64
	StoreHost                 netip.AddrPort
	PreparedTransactionOffset int64
}

// OffsetID is the broker's id of the message.
func (m *Message) OffsetID() string { return protocol.OffsetMsgID(m.StoreHost, m.CommitLogOffset) }

// ID is the client's id, or the broker's where the client gave none.
func (m *Message) ID() string {
	if id := m.Properties[protocol.PropertyUniqKey]; id != "" {
		return id
	}
	return m.OffsetID()
}

// DecodeMessages reads the records of a reply body. It stops at the first damaged one and returns what came before it with the error.
func DecodeMessages(b []byte) ([]*Message, error) {
	var out []*Message
	for len(b) > 0 {
		m, n, err := DecodeMessage(b)
		if err != nil {
			return out, err
		}
		out, b = append(out, m), b[n:]
	}
	return out, nil
}

// DecodeMessage reads the first record in b, and returns its size.
func DecodeMessage(b []byte) (*Message, int, error) {
	var v protocol.MessageView
	n, err := protocol.DecodeMessage(b, &v)
	if err != nil {
		return nil, 0, err
	}
	body, err := Inflate(v.SysFlag, v.Body)
	if err != nil {
		return nil, 0, fmt.Errorf("message at offset %d of queue %d: %w", v.QueueOffset, v.QueueID, err)
	}
	return &Message{
		Topic: strings.Clone(v.Topic), Body: body, Properties: protocol.ParseProperties(strings.Clone(v.Properties)),
		QueueID: v.QueueID, QueueOffset: v.QueueOffset, CommitLogOffset: v.PhysicalOffset, StoreSize: int32(n), Flag: v.Flag, SysFlag: v.SysFlag,
		BodyCRC: v.BodyCRC, ReconsumeTimes: v.ReconsumeTimes, BornTimestamp: v.BornTimestamp, BornHost: v.BornHost,
		StoreTimestamp: v.StoreTimestamp, StoreHost: v.StoreHost, PreparedTransactionOffset: v.PreparedTransactionOffset,
	}, n, nil
}

// Inflate returns the body that sysFlag describes, decompressed, in memory of its own.
func Inflate(sysFlag int32, body []byte) ([]byte, error) {
	if sysFlag&protocol.SysFlagCompressed == 0 {
		return bytes.Clone(body), nil
	}
	r, err := inflater(sysFlag&protocol.SysFlagCompressionMask, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("compressed body: %w", err)
	}
	defer r.Close()
	out, err := io.ReadAll(io.LimitReader(r, MaxBody+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("compressed body: %w", err)
	case len(out) > MaxBody:
		return nil, fmt.Errorf("compressed body: larger than %d bytes", MaxBody)
	}
	return out, nil
}

func inflater(kind int32, r io.Reader) (io.ReadCloser, error) {
	switch kind {
	case protocol.SysFlagCompressionLegacy, protocol.SysFlagCompressionZlib:
		return zlib.NewReader(r)
	case protocol.SysFlagCompressionLZ4:
		return io.NopCloser(lz4.NewReader(r)), nil
	case protocol.SysFlagCompressionZstd:
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxBody))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	return nil, fmt.Errorf("unknown compression type %#x", kind)
}

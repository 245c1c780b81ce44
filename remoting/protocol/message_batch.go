package protocol

import (
	"encoding/binary"
	"fmt"
)

// batchEntryOverhead is the size of a batch entry with empty body and properties.
const batchEntryOverhead = 22

// BatchEntry is one message of a batch body (SEND_BATCH_MESSAGE). Body and Properties alias the batch.
type BatchEntry struct {
	Flag       int32
	Body       []byte
	Properties string
}

// BatchError says why bytes are not a batch body.
type BatchError struct {
	Reason string
	Entry  int // index of the bad entry
	Got    int64
	Limit  int64
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("batch body: entry %d: %s: got %d, limit %d", e.Entry, e.Reason, e.Got, e.Limit)
}

// BatchReader walks a batch body. Use: for r := NewBatchReader(b); r.Next(&e); {…}; then look at r.Err.
type BatchReader struct {
	rest []byte
	n    int
	err  error
}

// NewBatchReader returns a reader at the first entry.
func NewBatchReader(body []byte) BatchReader { return BatchReader{rest: body} }

// Next reads the next entry; false at the end and at the first bad entry.
func (r *BatchReader) Next(e *BatchEntry) bool {
	if len(r.rest) == 0 || r.err != nil {
		return false
	}
	size, err := decodeBatchEntry(r.rest, e)
	if err != nil {
		err.Entry = r.n
		r.err = err
		return false
	}
	r.rest = r.rest[size:]
	r.n++
	return true
}

// Count is the number of entries read so far.
func (r *BatchReader) Count() int { return r.n }

// Err is the *BatchError that ended the walk early, or nil.
func (r *BatchReader) Err() error { return r.err }

// CountBatch checks a whole batch body and returns its number of entries. The error is a *BatchError; an empty body is one.
func CountBatch(body []byte) (int, error) {
	if len(body) == 0 {
		return 0, &BatchError{Reason: "empty", Limit: batchEntryOverhead}
	}
	r := NewBatchReader(body)
	var e BatchEntry
	for r.Next(&e) {
	}
	return r.n, r.err
}

func decodeBatchEntry(b []byte, e *BatchEntry) (int, *BatchError) {
	if len(b) < batchEntryOverhead {
		return 0, &BatchError{Reason: "cut", Got: int64(len(b)), Limit: batchEntryOverhead}
	}
	size := int64(int32(binary.BigEndian.Uint32(b)))
	if size < batchEntryOverhead || size > int64(len(b)) {
		return 0, &BatchError{Reason: "size", Got: size, Limit: int64(len(b))}
	}
	b = b[:size]
	e.Flag = int32(binary.BigEndian.Uint32(b[12:])) // magic and checksum before it are 0 and mean nothing
	bodyLen := int64(int32(binary.BigEndian.Uint32(b[16:])))
	if bodyLen < 0 || bodyLen > size-batchEntryOverhead {
		return 0, &BatchError{Reason: "body length", Got: bodyLen, Limit: size - batchEntryOverhead}
	}
	at := 20 + int(bodyLen)
	e.Body = b[20:at:at]
	propsLen := int64(int16(binary.BigEndian.Uint16(b[at:])))
	if propsLen != size-batchEntryOverhead-bodyLen {
		return 0, &BatchError{Reason: "properties length", Got: propsLen, Limit: size - batchEntryOverhead - bodyLen}
	}
	e.Properties = aliasBytes(b[at+2:])
	return int(size), nil
}

// AppendBatchEntry appends one message to a batch body. Its properties must not exceed MaxPropertiesLength.
func AppendBatchEntry(dst []byte, e *BatchEntry) []byte {
	size := batchEntryOverhead + len(e.Body) + len(e.Properties)
	dst = binary.BigEndian.AppendUint32(dst, uint32(size))
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0) // magic, checksum
	dst = binary.BigEndian.AppendUint32(dst, uint32(e.Flag))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(e.Body)))
	dst = append(dst, e.Body...)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(e.Properties)))
	return append(dst, e.Properties...)
}

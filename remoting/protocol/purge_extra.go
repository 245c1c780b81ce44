package protocol

// ReqPurgeTopic is the first of our own request codes, far from Java's: it hides the messages that a topic, or one queue of it, has now.
// A Java broker answers it with REQUEST_CODE_NOT_SUPPORTED.
const ReqPurgeTopic RequestCode = 700001

// PurgeTopicRequestHeader: request header of PURGE_TOPIC (700001).
type PurgeTopicRequestHeader struct {
	Topic string
	// QueueID is the queue to purge; none: all of the topic.
	QueueID Opt[int32]
	// Before, in ms, leaves messages that were stored at or after it; none: everything goes.
	Before Opt[int64]
	// Preview only counts.
	Preview bool
}

// EncodeExt writes the fields of h.
func (h *PurgeTopicRequestHeader) EncodeExt(w *ExtWriter) {
	w.String("topic", h.Topic)
	w.OptInt32("queueId", h.QueueID)
	w.OptInt64("before", h.Before)
	w.Bool("preview", h.Preview)
}

// DecodeExt sets h to what ext says; its strings alias those of ext. The error is a *FieldError.
func (h *PurgeTopicRequestHeader) DecodeExt(ext ExtFields) error {
	*h = PurgeTopicRequestHeader{}
	seen := uint32(0)
	for i := range ext {
		f := &ext[i]
		switch f.Key {
		case "topic":
			h.Topic, seen = f.Value, 1
		case "queueId":
			n, ok := parseInt32(f.Value)
			if !ok {
				return badNumber(f, 32)
			}
			h.QueueID = Some(n)
		case "before":
			n, ok := parseInt64(f.Value)
			if !ok {
				return badNumber(f, 64)
			}
			h.Before = Some(n)
		case "preview":
			h.Preview = f.Value == "true"
		}
	}
	if seen != 1 {
		return missingField(seen, "topic")
	}
	return nil
}

// PurgedQueue is what became of one queue, or would: it has messages from MinOffset to MaxOffset, and Messages of those before MinOffset
// went now.
type PurgedQueue struct {
	QueueID   int32 `json:"queueId"`
	MinOffset int64 `json:"minOffset"`
	MaxOffset int64 `json:"maxOffset"`
	Messages  int64 `json:"messages"`
}

// PurgeTopicResponseBody: body of the reply to PURGE_TOPIC, queues by number.
type PurgeTopicResponseBody struct {
	Queues []PurgedQueue `json:"queues"`
}

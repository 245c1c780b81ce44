package broker

// lightOffsets is the file of consumer offsets of a broker with light queues, "" without.
func (b *Broker) lightOffsets() string {
	if !b.o.Store.EnableLmq {
		return ""
	}
	return b.config("lmqConsumerOffset.json")
}

package clients

// Producer finds a producer by client id, whatever its group; the one heard of last when there are several.
func (r *Registry) Producer(clientID string) (Member, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var found Member
	for _, g := range r.producers {
		for _, m := range g.members {
			if m.ClientID == clientID && (found.Conn == nil || m.LastUpdate > found.LastUpdate) {
				found = *m
			}
		}
	}
	return found, found.Conn != nil
}

import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import org.apache.rocketmq.client.consumer.*;
import org.apache.rocketmq.client.consumer.listener.*;
import org.apache.rocketmq.client.producer.*;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.*;

/** What stock clients see of a topic with queue.type=BatchCQ, and of light queues. Compiles against 4.9.8 and 5.5.0. Arguments: scenario, name server. */
public class Queues {
    static String ns, broker;

    public static void main(String[] a) {
        ns = a[1];
        try {
            if (a[0].equals("batch")) batch();
            else light();
            System.out.println("OK " + a[0]);
            System.exit(0);
        } catch (Throwable t) {
            t.printStackTrace(System.out);
            System.out.println("FAILED " + a[0]);
            System.exit(1);
        }
    }

    static void check(boolean ok, String what) { if (!ok) throw new AssertionError(what); }

    static void eventually(Callable<String> c) throws Exception {
        String last = "";
        for (int i = 0; i < 300; i++) {
            if ((last = c.call()) == null) return;
            Thread.sleep(100);
        }
        throw new AssertionError(last);
    }

    static DefaultMQProducer producer(String group) throws Exception {
        DefaultMQProducer p = new DefaultMQProducer(group);
        p.setNamesrvAddr(ns);
        p.setInstanceName(group);
        p.start();
        return p;
    }

    static DefaultMQPushConsumer consumer(String group, String topic, String tags, Queue<MessageExt> to) throws Exception {
        DefaultMQPushConsumer c = new DefaultMQPushConsumer(group);
        c.setNamesrvAddr(ns);
        c.setInstanceName(group);
        c.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        c.subscribe(topic, tags);
        c.registerMessageListener((MessageListenerConcurrently) (ms, x) -> {
            to.addAll(ms);
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        c.start();
        return c;
    }

    static String body(MessageExt m) { return new String(m.getBody(), StandardCharsets.UTF_8); }

    /** Every message of every batch comes once, as if it had been sent alone, with an offset of its own; tags are minded. */
    static void batch() throws Exception {
        DefaultMQProducer p = producer("QueuesProducer");
        Map<String, String> tags = new HashMap<>();
        for (int b = 0; b < 20; b++) {
            List<Message> batch = new ArrayList<>();
            for (int i = 0; i <= b % 6; i++) {
                String text = "m" + b + "." + i, tag = i % 2 == 0 ? "even" : "odd";
                tags.put(text, tag);
                batch.add(new Message("Batches", tag, "key" + text, text.getBytes(StandardCharsets.UTF_8)));
            }
            SendResult r = p.send(batch);
            check(r.getSendStatus() == SendStatus.SEND_OK && r.getMsgId() != null, "sent " + r);
        }
        tags.put("alone", "odd");
        p.send(new Message("Batches", "odd", "alone".getBytes(StandardCharsets.UTF_8)));
        Queue<MessageExt> all = new ConcurrentLinkedQueue<>(), odd = new ConcurrentLinkedQueue<>();
        DefaultMQPushConsumer c = consumer("QueuesAll", "Batches", "*", all), d = consumer("QueuesOdd", "Batches", "odd", odd);
        long odds = tags.values().stream().filter("odd"::equals).count();
        eventually(() -> all.size() >= tags.size() && odd.size() >= odds ? null : all.size() + " of " + tags.size() + ", " + odd.size() + " of " + odds);
        Thread.sleep(1000);
        Map<Integer, TreeSet<Long>> offsets = new HashMap<>();
        Set<String> seen = new HashSet<>();
        for (MessageExt m : all) {
            check(seen.add(body(m)), "twice: " + m);
            check(m.getTags().equals(tags.get(body(m))), "tag of " + m);
            if (!body(m).equals("alone")) check(m.getKeys().equals("key" + body(m)), "key of " + m);
            check(offsets.computeIfAbsent(m.getQueueId(), k -> new TreeSet<>()).add(m.getQueueOffset()), "offset of " + m);
        }
        check(seen.equals(tags.keySet()), "received " + seen);
        for (TreeSet<Long> q : offsets.values()) check(q.first() == 0 && q.last() == q.size() - 1, "offsets " + q);
        check(odd.size() == odds, "odd: " + odd.size() + ", want " + odds);
        for (MessageExt m : odd) check("odd".equals(m.getTags()), "tag of " + m);
        c.shutdown(); // offsets are committed
        for (int i = 0; i < 3; i++) p.send(Collections.singletonList(new Message("Batches", "odd", ("later" + i).getBytes(StandardCharsets.UTF_8))));
        Queue<MessageExt> again = new ConcurrentLinkedQueue<>();
        c = consumer("QueuesAll", "Batches", "*", again);
        eventually(() -> again.size() >= 3 ? null : again.size() + " of 3");
        Thread.sleep(1000);
        check(again.size() == 3, "again: " + again.size());
        c.shutdown();
        d.shutdown();
        p.shutdown();
    }

    /** A light queue is read by a push consumer, as Apache's example does, and its offsets are its own. */
    static void light() throws Exception {
        String lmq = "%LMQ%stock";
        DefaultMQProducer p = producer("LightProducer");
        List<String> want = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            Message m = new Message("LightParent", "tag", ("l" + i).getBytes(StandardCharsets.UTF_8));
            if (i % 3 == 0) {
                want.add("l" + i);
                m.putUserProperty("INNER_MULTI_DISPATCH", "%LMQ%other," + lmq);
            }
            SendResult r = p.send(m);
            check(r.getSendStatus() == SendStatus.SEND_OK, "sent " + i);
            broker = r.getMessageQueue().getBrokerName();
        }
        Queue<MessageExt> got = new ConcurrentLinkedQueue<>();
        DefaultMQPushConsumer c = light(lmq, got);
        eventually(() -> got.size() >= want.size() ? null : got.size() + " of " + want.size());
        Thread.sleep(1000);
        TreeMap<Long, String> byOffset = new TreeMap<>();
        for (MessageExt m : got) byOffset.put(m.getQueueOffset(), body(m));
        check(new ArrayList<>(byOffset.values()).equals(want) && byOffset.firstKey() == 0 && byOffset.lastKey() == want.size() - 1, "received " + byOffset);
        c.shutdown();
        Message m = new Message("LightParent", "last".getBytes(StandardCharsets.UTF_8));
        m.putUserProperty("INNER_MULTI_DISPATCH", lmq);
        p.send(m);
        Queue<MessageExt> again = new ConcurrentLinkedQueue<>();
        c = light(lmq, again);
        eventually(() -> again.size() >= 1 ? null : "nothing after a restart");
        Thread.sleep(1000);
        check(again.size() == 1 && body(again.peek()).equals("last"), "after a restart: " + again);
        c.shutdown();
        p.shutdown();
    }

    /** The route of a light queue is that of its parent, which the client must be told. */
    static DefaultMQPushConsumer light(String lmq, Queue<MessageExt> to) throws Exception {
        DefaultMQPushConsumer c = consumer("LightConsumer", lmq, "*", to);
        org.apache.rocketmq.client.impl.factory.MQClientInstance f = c.getDefaultMQPushConsumerImpl().getmQClientFactory();
        f.updateTopicRouteInfoFromNameServer("LightParent");
        java.lang.reflect.Field table = f.getClass().getDeclaredField("topicRouteTable");
        table.setAccessible(true);
        @SuppressWarnings("unchecked") Map<String, Object> routes = (Map<String, Object>) table.get(f);
        routes.put(lmq, routes.get("LightParent"));
        c.getDefaultMQPushConsumerImpl().updateTopicSubscribeInfo(lmq, Collections.singleton(new MessageQueue(lmq, broker, 0)));
        f.doRebalance();
        return c;
    }
}

import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.*;
import org.apache.rocketmq.client.consumer.listener.*;
import org.apache.rocketmq.client.impl.MQClientAPIImpl;
import org.apache.rocketmq.client.impl.MQClientManager;
import org.apache.rocketmq.client.impl.factory.MQClientInstance;
import org.apache.rocketmq.client.producer.*;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.*;
import org.apache.rocketmq.remoting.protocol.header.*;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/**
 * Pop consumption with the official client of 5.5.0: Pop NAME NAMESRV BROKER TOPIC. The topic exists.
 * Each scenario checks itself: exit code 0 and a last line "OK NAME", or 1 and the reason.
 */
public class Pop {
    static String ns, broker, topic;


    public static void main(String[] a) {
        ns = a[1];
        broker = a[2];
        topic = a[3];
        int code = 0;
        try {
            Pop.class.getDeclaredMethod(a[0]).invoke(null);
            System.out.println("OK " + a[0]);
        } catch (Throwable t) {
            (t.getCause() != null ? t.getCause() : t).printStackTrace(System.out);
            code = 1;
        }
        System.exit(code);
    }

    static void check(boolean ok, String what) { if (!ok) throw new IllegalStateException(what); }

    static String s(byte[] b) { return new String(b, StandardCharsets.UTF_8); }

    static DefaultMQProducer producer() throws Exception {
        DefaultMQProducer p = new DefaultMQProducer("P" + topic);
        p.setNamesrvAddr(ns);
        p.setInstanceName("producer");
        p.start();
        return p;
    }

    static void send(DefaultMQProducer p, String tag, String body) throws Exception {
        check(p.send(new Message(topic, tag, body.getBytes(StandardCharsets.UTF_8))).getSendStatus() == SendStatus.SEND_OK, body);
    }

    interface Cond { String why() throws Exception; }

    static void eventually(int seconds, Cond c) throws Exception {
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        String why;
        while ((why = c.why()) != null) {
            check(System.nanoTime() < end, "not within " + seconds + " s: " + why);
            Thread.sleep(50);
        }
    }

    /** Five consumers of one group share two queues; what fails once is given again, what is not wanted is not. */
    static void push() throws Exception {
        String group = "G" + topic;
        DefaultMQAdminExt admin = new DefaultMQAdminExt();
        admin.setNamesrvAddr(ns);
        admin.start();
        org.apache.rocketmq.remoting.protocol.subscription.SubscriptionGroupConfig config = new org.apache.rocketmq.remoting.protocol.subscription.SubscriptionGroupConfig();
        config.setGroupName(group);
        admin.createAndUpdateSubscriptionGroupConfig(broker, config);
        admin.setMessageRequestMode(broker, topic, group, MessageRequestMode.POP, 8, 3000);
        Map<String, AtomicInteger> got = new ConcurrentHashMap<>();
        Map<String, Long> failedAt = new ConcurrentHashMap<>();
        Set<String> members = ConcurrentHashMap.newKeySet();
        List<DefaultMQPushConsumer> all = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            String me = "c" + i;
            DefaultMQPushConsumer c = new DefaultMQPushConsumer(group);
            c.setNamesrvAddr(ns);
            c.setInstanceName(me);
            c.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
            c.setClientRebalance(false);
            c.setPopInvisibleTime(20_000);
            c.setPopBatchNums(4);
            c.setConsumeThreadMin(1);
            c.setConsumeThreadMax(1);
            c.subscribe(topic, "a || fail");
            c.registerMessageListener((MessageListenerConcurrently) (ms, x) -> {
                boolean ok = true;
                for (MessageExt m : ms) {
                    members.add(me);
                    int n = got.computeIfAbsent(s(m.getBody()), k -> new AtomicInteger()).incrementAndGet();
                    if (m.getTags().equals("fail") && n == 1) { failedAt.put(s(m.getBody()), System.currentTimeMillis()); ok = false; }
                }
                try { Thread.sleep(20); } catch (InterruptedException e) { }
                return ok ? ConsumeConcurrentlyStatus.CONSUME_SUCCESS : ConsumeConcurrentlyStatus.RECONSUME_LATER;
            });
            c.start();
            all.add(c);
        }
        Thread.sleep(3000); // until they have asked for their queues
        DefaultMQProducer p = producer();
        for (int i = 0; i < 100; i++) send(p, i % 10 == 9 ? "b" : "a", "m" + i);
        send(p, "fail", "fails once");
        eventually(60, () -> {
            for (int i = 0; i < 100; i++) if (i % 10 != 9 && !got.containsKey("m" + i)) return "m" + i + " is not there";
            AtomicInteger n = got.get("fails once");
            return n != null && n.get() >= 2 ? null : "what failed was given " + n;
        });
        for (Map.Entry<String, AtomicInteger> e : got.entrySet()) {
            if (e.getKey().equals("fails once")) continue;
            check(!e.getKey().endsWith("9"), "not subscribed to: " + e.getKey());
            check(e.getValue().get() == 1, "given twice: " + e);
        }
        check(members.size() >= 3, "two queues are shared by " + members);
        for (DefaultMQPushConsumer c : all) c.shutdown();
        p.shutdown();
        admin.shutdown();
    }

    static MQClientInstance client;
    static MQClientAPIImpl api;
    static String brokerName;

    static PopResult pop(String group, int max, long invisible, long poll, boolean order, String exp) throws Exception {
        PopMessageRequestHeader h = new PopMessageRequestHeader();
        h.setConsumerGroup(group);
        h.setTopic(topic);
        h.setQueueId(-1);
        h.setMaxMsgNums(max);
        h.setInvisibleTime(invisible);
        h.setPollTime(poll);
        h.setBornTime(System.currentTimeMillis());
        h.setInitMode(0);
        h.setExpType("TAG");
        h.setExp(exp);
        h.setOrder(order);
        CompletableFuture<PopResult> f = new CompletableFuture<>();
        api.popMessageAsync(brokerName, broker, h, 20_000, new PopCallback() {
            public void onSuccess(PopResult r) { f.complete(r); }
            public void onException(Throwable t) { f.completeExceptionally(t); }
        });
        return f.get(30, TimeUnit.SECONDS);
    }

    static String real(String group, String handle) {
        String[] x = ExtraInfoUtil.split(handle);
        return ExtraInfoUtil.getRealTopic(x, topic, group);
    }

    static CompletableFuture<AckResult> future;

    static AckCallback callback() {
        CompletableFuture<AckResult> f = new CompletableFuture<>();
        future = f;
        return new AckCallback() {
            public void onSuccess(AckResult r) { f.complete(r); }
            public void onException(Throwable t) { f.completeExceptionally(t); }
        };
    }

    static AckStatus ack(String group, String handle) throws Exception {
        String[] x = ExtraInfoUtil.split(handle);
        AckMessageRequestHeader h = new AckMessageRequestHeader();
        h.setTopic(real(group, handle));
        h.setQueueId(ExtraInfoUtil.getQueueId(x));
        h.setOffset(ExtraInfoUtil.getQueueOffset(x));
        h.setConsumerGroup(group);
        h.setExtraInfo(handle);
        api.ackMessageAsync(broker, 5000, callback(), h);
        return future.get(10, TimeUnit.SECONDS).getStatus();
    }

    static AckResult change(String group, String handle, long invisible) throws Exception {
        String[] x = ExtraInfoUtil.split(handle);
        ChangeInvisibleTimeRequestHeader h = new ChangeInvisibleTimeRequestHeader();
        h.setTopic(real(group, handle));
        h.setQueueId(ExtraInfoUtil.getQueueId(x));
        h.setOffset(ExtraInfoUtil.getQueueOffset(x));
        h.setConsumerGroup(group);
        h.setExtraInfo(handle);
        h.setInvisibleTime(invisible);
        api.changeInvisibleTimeAsync(brokerName, broker, h, 5000, callback());
        return future.get(10, TimeUnit.SECONDS);
    }

    static String handle(MessageExt m) { return m.getProperty(MessageConst.PROPERTY_POP_CK); }

    static List<MessageExt> found(PopResult r) { return r.getMsgFoundList() == null ? Collections.emptyList() : r.getMsgFoundList(); }

    static String bodies(List<MessageExt> l) {
        StringBuilder b = new StringBuilder();
        for (MessageExt m : l) b.append(s(m.getBody())).append(' ');
        return b.toString();
    }

    /** Requests of the client's API, one by one. */
    static void raw() throws Exception {
        DefaultMQProducer p = producer();
        for (int i = 0; i < 8; i++) send(p, "a", "m" + i);
        client = MQClientManager.getInstance().getOrCreateMQClientInstance(p.cloneClientConfig(), null);
        api = client.getMQClientAPIImpl();
        brokerName = p.fetchPublishMessageQueues(topic).get(0).getBrokerName();
        String g = "Raw" + topic;

        List<MessageExt> l = new ArrayList<>();
        eventually(10, () -> { l.addAll(found(pop(g, 8 - l.size(), 6000, 0, false, "*"))); return l.size() == 8 ? null : bodies(l); });
        check(pop(g, 8, 6000, 300, false, "*").getPopStatus() != PopStatus.FOUND, "popped what is invisible");
        check(ack(g, handle(l.get(0))) == AckStatus.OK, "ack");
        check(ack(g, handle(l.get(0))) == AckStatus.OK, "ack twice");
        String altered = handle(l.get(1)).replaceFirst(" 6000 ", " 7000 ");
        check(ack(g, altered) != AckStatus.OK, "acknowledged by " + altered);
        api.batchAckMessageAsync(broker, 5000, callback(), topic, g, Arrays.asList(handle(l.get(1)), handle(l.get(2)), handle(l.get(3))));
        check(future.get(10, TimeUnit.SECONDS).getStatus() == AckStatus.OK, "batch ack");
        AckResult longer = change(g, handle(l.get(4)), 30_000);
        check(longer.getStatus() == AckStatus.OK && longer.getExtraInfo() != null, "change: " + longer);
        AckResult now = change(g, handle(l.get(5)), 0);
        check(now.getStatus() == AckStatus.OK, "give back: " + now);
        PopResult back = pop(g, 8, 60_000, 15_000, false, "*");
        check(bodies(found(back)).equals("m5 "), "given back: " + bodies(found(back)));
        MessageExt m5 = found(back).get(0);
        check(m5.getTopic().equals(topic) && m5.getReconsumeTimes() == 1 && ack(g, handle(m5)) == AckStatus.OK, "ack of " + m5);
        List<MessageExt> late = new ArrayList<>();
        eventually(20, () -> { late.addAll(found(pop(g, 8, 60_000, 1000, false, "*"))); return late.size() == 2 ? null : bodies(late); });
        for (MessageExt m : late) check(s(m.getBody()).matches("m[67]") && ack(g, handle(m)) == AckStatus.OK, "late: " + m);
        // as the client builds the handle after a change
        check(ack(g, longer.getExtraInfo() + " " + l.get(4).getQueueOffset()) == AckStatus.OK || ack(g, longer.getExtraInfo()) == AckStatus.OK, "ack with " + longer.getExtraInfo());

        String o = "Order" + topic;
        List<MessageExt> first = found(pop(o, 3, 60_000, 1000, true, "*"));
        check(bodies(first).equals("m0 m1 m2 "), "in order: " + bodies(first));
        check(pop(o, 3, 60_000, 300, true, "*").getPopStatus() != PopStatus.FOUND, "not blocked");
        CompletableFuture<List<MessageExt>> waits = CompletableFuture.supplyAsync(() -> {
            try { return found(pop(o, 3, 60_000, 15_000, true, "*")); } catch (Exception e) { throw new CompletionException(e); }
        });
        for (MessageExt m : first) check(ack(o, handle(m)) == AckStatus.OK, "ack of " + handle(m));
        check(bodies(waits.get(10, TimeUnit.SECONDS)).equals("m3 m4 m5 "), "in order: " + bodies(waits.get()));
        p.shutdown();
    }
}

import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import org.apache.rocketmq.client.consumer.*;
import org.apache.rocketmq.client.consumer.listener.*;
import org.apache.rocketmq.client.producer.*;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.*;

/**
 * Scenarios of the official Java client against a NameServer: Scenario NAME NAMESRV TOPIC. The topic exists.
 * Each checks itself: exit code 0 and a last line "OK NAME", or 1 and the reason. Compiles against 4.9.8 and 5.5.0.
 */
public class Scenario {
    static String ns, topic;

    public static void main(String[] a) {
        ns = a[1];
        topic = a[2];
        int code = 0;
        try {
            Scenario.class.getDeclaredMethod(a[0]).invoke(null);
            System.out.println("OK " + a[0]);
        } catch (Throwable t) {
            (t.getCause() != null ? t.getCause() : t).printStackTrace(System.out);
            code = 1;
        }
        System.exit(code);
    }

    static byte[] u(String s) { return s.getBytes(StandardCharsets.UTF_8); }

    static String s(byte[] b) { return new String(b, StandardCharsets.UTF_8); }

    static void check(boolean ok, String what) { if (!ok) throw new IllegalStateException(what); }

    interface Cond { String why() throws Exception; }

    static void eventually(int seconds, Cond c) throws Exception {
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        String why;
        while ((why = c.why()) != null) {
            check(System.nanoTime() < end, "not within " + seconds + " s: " + why);
            Thread.sleep(50);
        }
    }

    static DefaultMQProducer producer(String group) throws Exception {
        DefaultMQProducer p = new DefaultMQProducer(group);
        p.setNamesrvAddr(ns);
        p.setInstanceName(group);
        p.setRetryTimesWhenSendFailed(0);
        p.start();
        return p;
    }

    static DefaultMQPushConsumer consumer(String group, String instance, String on, String tags, MessageListenerConcurrently l) throws Exception {
        DefaultMQPushConsumer c = new DefaultMQPushConsumer(group);
        c.setNamesrvAddr(ns);
        c.setInstanceName(instance);
        c.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        c.setConsumeThreadMin(2);
        c.setConsumeThreadMax(4);
        c.subscribe(on, tags);
        c.registerMessageListener(l);
        return c;
    }

    static final Map<String, AtomicInteger> got = new ConcurrentHashMap<>();

    static void add(String k) { got.computeIfAbsent(k, x -> new AtomicInteger()).incrementAndGet(); }

    static int count(String k) { return got.containsKey(k) ? got.get(k).get() : 0; }

    static MessageListenerConcurrently collect(String who) {
        return (ms, x) -> {
            for (MessageExt m : ms) add(who + (m.getBody().length > 60 ? m.getBody().length + " bytes" : s(m.getBody())));
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        };
    }

    static void received(int seconds, String... keys) throws Exception {
        eventually(seconds, () -> {
            for (String k : keys) if (count(k) == 0) return "not received: " + k + " of " + got;
            return null;
        });
    }

    static SendResult ok(SendResult r) { check(r.getSendStatus() == SendStatus.SEND_OK, r.toString()); return r; }

    /** Half messages that are committed, rolled back, or decided by a check; the broker checks after a second. */
    static void transaction() throws Exception {
        Map<String, AtomicInteger> checks = new ConcurrentHashMap<>();
        TransactionMQProducer p = new TransactionMQProducer("JTxn" + topic);
        p.setNamesrvAddr(ns);
        p.setInstanceName("txn");
        p.setTransactionListener(new TransactionListener() {
            public LocalTransactionState executeLocalTransaction(Message m, Object arg) {
                switch ((String) arg) {
                    case "commit": return LocalTransactionState.COMMIT_MESSAGE;
                    case "rollback": return LocalTransactionState.ROLLBACK_MESSAGE;
                    default: return LocalTransactionState.UNKNOW;
                }
            }
            public LocalTransactionState checkLocalTransaction(MessageExt m) {
                String b = s(m.getBody());
                int n = checks.computeIfAbsent(b, x -> new AtomicInteger()).incrementAndGet();
                check(m.getTopic().equals(topic) && m.getTransactionId() != null && m.getTransactionId().equals(m.getUserProperty("id")), "checked " + m);
                if (b.startsWith("late") && n < 2) return LocalTransactionState.UNKNOW;
                return b.endsWith("drop") ? LocalTransactionState.ROLLBACK_MESSAGE : LocalTransactionState.COMMIT_MESSAGE;
            }
        });
        p.start();
        Map<String, MessageExt> seen = new ConcurrentHashMap<>();
        DefaultMQPushConsumer c = consumer("JTxnC" + topic, "txnc", topic, "TagA", (ms, x) -> {
            for (MessageExt m : ms) { seen.put(s(m.getBody()), m); add(s(m.getBody())); }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        c.start();
        String[][] all = {{"now", "commit"}, {"now drop", "rollback"}, {"checked", ""}, {"checked drop", ""}, {"late", ""}, {"late drop", ""}};
        for (String[] one : all) {
            Message m = new Message(topic, "TagA", "k " + one[0], u(one[0]));
            MessageAccessor.putProperty(m, "UNIQ_KEY", MessageClientIDSetter.createUniqID());
            m.putUserProperty("id", m.getProperty("UNIQ_KEY"));
            TransactionSendResult r = p.sendMessageInTransaction(m, one[1]);
            check(r.getSendStatus() == SendStatus.SEND_OK && r.getTransactionId().equals(m.getProperty("UNIQ_KEY")), r.toString());
        }
        received(45, "now", "checked", "late");
        eventually(45, () -> checks.containsKey("late drop") && checks.get("late drop").get() >= 2 && checks.containsKey("checked drop") ? null : "checks " + checks);
        Thread.sleep(3000); // two more rounds: nobody is asked again, nothing comes twice
        check(got.size() == 3, "received " + got);
        for (AtomicInteger n : got.values()) check(n.get() == 1, "received twice: " + got);
        check(checks.get("checked").get() == 1 && checks.get("checked drop").get() == 1 && checks.get("late").get() == 2 && checks.get("late drop").get() == 2
            && !checks.containsKey("now") && !checks.containsKey("now drop"), "checks " + checks);
        MessageExt m = seen.get("late");
        check(m.getPreparedTransactionOffset() > 0 && m.getKeys().equals("k late") && m.getTransactionId().equals(m.getUserProperty("id")), "received " + m);
        c.shutdown();
        p.shutdown();
    }

    /** Message traces, as the client writes them: to the default topic, which nobody made, and to one that its user names. */
    static void trace() throws Exception {
        for (String own : new String[]{null, topic + "Traces"}) {
            String group = "JTrace" + topic + (own == null ? "" : "Own"), where = own == null ? "RMQ_SYS_TRACE_TOPIC" : own;
            DefaultMQProducer p = new DefaultMQProducer(group, true, own);
            p.setNamesrvAddr(ns);
            p.setInstanceName(group);
            p.start();
            DefaultMQPushConsumer c = new DefaultMQPushConsumer(group + "C", true, own);
            c.setNamesrvAddr(ns);
            c.setInstanceName(group + "C");
            c.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
            c.subscribe(topic, "*");
            c.registerMessageListener(collect(group));
            c.start();
            String body = "traced " + group, id = ok(p.send(new Message(topic, "TagA", "key", u(body)))).getMsgId();
            received(45, group + body);
            eventually(45, () -> {
                String all = "";
                try {
                    for (MessageExt m : p.queryMessage(where, id, 32, 0, System.currentTimeMillis() + 60_000).getMessageList()) all += s(m.getBody());
                } catch (org.apache.rocketmq.client.exception.MQClientException none) { all += none.getErrorMessage(); }
                for (String kind : new String[]{"Pub", "SubBefore", "SubAfter"}) if (!all.contains(kind + "\u0001")) return "no " + kind + " of " + id + " in " + where + ": " + all;
                return null;
            });
            c.shutdown();
            p.shutdown();
        }
    }

    /** Timed messages come at their time and in no other way; a recalled one does not. 5.5.0 only: recalls are called by reflection. */
    static void timer() throws Exception {
        DefaultMQProducer p = producer("JTimer" + topic);
        Map<String, MessageExt> seen = new ConcurrentHashMap<>();
        DefaultMQPushConsumer c = consumer("JTimerC" + topic, "timer", topic, "*", (ms, x) -> {
            for (MessageExt m : ms) { seen.put(s(m.getBody()), m); add(s(m.getBody())); }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        c.start();
        Map<String, Long> due = new LinkedHashMap<>();
        long now = System.currentTimeMillis();
        due.put("past TIMER_DELIVER_MS", -5000L);
        due.put("a TIMER_DELIVER_MS", 1700L);
        due.put("b TIMER_DELAY_MS", 1234L);
        due.put("c TIMER_DELAY_SEC", 2000L);
        due.put("recalled TIMER_DELAY_MS", 4000L);
        due.put("also recalled TIMER_DELIVER_MS", 4500L);
        due.put("last TIMER_DELAY_SEC", 6000L);
        java.lang.reflect.Method recall = DefaultMQProducer.class.getMethod("recallMessage", String.class, String.class);
        for (Map.Entry<String, Long> e : due.entrySet()) {
            String property = e.getKey().substring(e.getKey().lastIndexOf(' ') + 1);
            long begin = System.currentTimeMillis(), value = e.getValue();
            if (property.endsWith("DELIVER_MS")) value += begin;
            if (property.endsWith("SEC")) value /= 1000;
            Message m = new Message(topic, "timer", u(e.getKey()));
            MessageAccessor.putProperty(m, property, "" + value);
            SendResult r = ok(p.send(m));
            e.setValue(begin + e.getValue());
            String handle = (String) SendResult.class.getMethod("getRecallHandle").invoke(r);
            check((handle != null) == !e.getKey().startsWith("past"), e.getKey() + " has the handle " + handle);
            if (!e.getKey().contains("recalled")) continue;
            for (String bad : new String[]{handle.substring(0, handle.length() - 8), "x"}) {
                try { recall.invoke(p, topic, bad); check(false, "recalled by " + bad); } catch (java.lang.reflect.InvocationTargetException x) { }
            }
            check(r.getMsgId().equals(recall.invoke(p, topic, handle)), "recall of " + r);
        }
        boolean refused = false;
        Message far = new Message(topic, u("far"));
        MessageAccessor.putProperty(far, "TIMER_DELAY_SEC", "400000");
        try { p.send(far); } catch (Exception e) { refused = e.toString().contains("max delay"); }
        check(refused, "a delay beyond the limit was taken");
        received(45, "past TIMER_DELIVER_MS", "a TIMER_DELIVER_MS", "b TIMER_DELAY_MS", "c TIMER_DELAY_SEC", "last TIMER_DELAY_SEC");
        check(got.size() == 5, "received " + got);
        for (String k : got.keySet()) {
            check(count(k) == 1, "received twice: " + got);
            check(seen.get(k).getStoreTimestamp() >= due.get(k), k + " came " + (due.get(k) - seen.get(k).getStoreTimestamp()) + " ms early");
        }
        c.shutdown();
        p.shutdown();
    }

    /** Requests are answered through the broker; one that nobody answers runs into its time limit. */
    static void requestReply() throws Exception {
        DefaultMQProducer replier = producer("JReplier" + topic), p = producer("JRequester" + topic);
        AtomicReference<Throwable> failed = new AtomicReference<>();
        DefaultMQPushConsumer c = consumer("JReply" + topic, "reply", topic, "*", (ms, x) -> {
            for (MessageExt m : ms) {
                try {
                    if (!s(m.getBody()).startsWith("ask")) continue;
                    ok(replier.send(org.apache.rocketmq.client.utils.MessageUtil.createReplyMessage(m, u("reply to " + s(m.getBody()))), 5000));
                } catch (Throwable t) { failed.set(t); }
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        c.start();
        eventually(45, () -> { // until the replier has its queues
            try { return s(p.request(new Message(topic, u("ask first")), 3000).getBody()).equals("reply to ask first") ? null : "wrong reply"; } catch (Exception e) { return e + " " + failed.get(); }
        });
        failed.set(null);
        for (int i = 0; i < 20; i++) {
            Message r = p.request(new Message(topic, "ask", u("ask " + i)), 8000);
            check(s(r.getBody()).equals("reply to ask " + i), "reply " + r);
        }
        CountDownLatch l = new CountDownLatch(1);
        p.request(new Message(topic, u("ask async")), new RequestCallback() {
            public void onSuccess(Message m) { add(s(m.getBody())); l.countDown(); }
            public void onException(Throwable t) { failed.set(t); l.countDown(); }
        }, 8000);
        check(l.await(10, TimeUnit.SECONDS) && count("reply to ask async") == 1, "async request: " + failed.get());
        String why = "a reply";
        try { p.request(new Message(topic, u("silent")), 1500); } catch (Exception e) { why = e.getClass().getSimpleName(); }
        check(why.equals("RequestTimeoutException"), "a request that nobody answers brings " + why);
        check(failed.get() == null, "reply: " + failed.get());
        c.shutdown();
        replier.shutdown();
        p.shutdown();
    }

    /** Sends in every way and receives each message exactly once. */
    static void producer() throws Exception {
        DefaultMQProducer p = producer("JProducer");
        Map<String, MessageExt> seen = new ConcurrentHashMap<>();
        DefaultMQPushConsumer c = consumer("JCheck" + topic, "check", topic, "*", (ms, x) -> {
            for (MessageExt m : ms) { seen.put(s(m.getBody()), m); add(m.getBody().length > 60 ? m.getBody().length + " bytes" : s(m.getBody())); }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        c.start();
        Message m = new Message(topic, "TagA", "k1 k2", u("sync"));
        m.putUserProperty("colour", "蓝");
        SendResult r = ok(p.send(m));
        check(r.getOffsetMsgId().length() == 32, "offsetMsgId " + r.getOffsetMsgId());
        CountDownLatch l = new CountDownLatch(1);
        AtomicReference<Throwable> failed = new AtomicReference<>();
        p.send(new Message(topic, "TagB", u("async")), new SendCallback() {
            public void onSuccess(SendResult r) { l.countDown(); }
            public void onException(Throwable e) { failed.set(e); l.countDown(); }
        });
        check(l.await(5, TimeUnit.SECONDS) && failed.get() == null, "async: " + failed.get());
        p.sendOneway(new Message(topic, "TagC", u("oneway")));
        ok(p.send(Arrays.asList(new Message(topic, "TagA", u("b1")), new Message(topic, "TagB", "kb", u("b2")), new Message(topic, u("b3")))));
        char[] zip = new char[12000];
        Arrays.fill(zip, 'z');
        ok(p.send(new Message(topic, "zip", u(new String(zip)))));
        m = new Message(topic, "delay", u("delayed"));
        m.setDelayTimeLevel(2);
        long begin = System.currentTimeMillis();
        ok(p.send(m));
        received(45, "sync", "async", "oneway", "b1", "b2", "b3", "12000 bytes", "delayed");
        check(seen.get("delayed").getStoreTimestamp() >= begin + 1000, "the delayed message came early");
        check("蓝".equals(seen.get("sync").getUserProperty("colour")) && "k1 k2".equals(seen.get("sync").getKeys()), "properties " + seen.get("sync").getProperties());
        for (AtomicInteger n : got.values()) check(n.get() == 1, "received twice: " + got);
        for (String bad : new String[]{"SCHEDULE_TOPIC_XXXX", "bad topic"}) {
            boolean refused = false;
            try { p.send(new Message(bad, u("x"))); } catch (Exception e) { refused = true; }
            check(refused, "send to " + bad + " was accepted");
        }
        check(p.viewMessage(topic, r.getOffsetMsgId()) != null, "view by id");
        eventually(10, () -> {
            try { return p.queryMessage(topic, "k1", 8, begin - 60000, System.currentTimeMillis() + 60000).getMessageList().size() == 1 ? null : "query by key"; } catch (Exception e) { return e.toString(); }
        });
        c.shutdown();
        p.shutdown();
    }

    static void tags() throws Exception {
        DefaultMQProducer p = producer("JProducer");
        for (int i = 0; i < 16; i++) ok(p.send(new Message(topic, new String[]{"TagA", "TagB", "TagC", "TagD"}[i % 4], u("t" + i))));
        DefaultMQPushConsumer c = consumer("JTags" + topic, "tags", topic, "TagA || TagC", collect(""));
        c.start();
        received(45, "t0", "t2", "t4", "t6", "t8", "t10", "t12", "t14");
        ok(p.send(new Message(topic, "TagC", u("wakes a held pull"))));
        received(10, "wakes a held pull");
        check(count("t1") == 0 && got.size() == 9, "received " + got);
        c.shutdown();
        p.shutdown();
    }

    static void three() throws Exception {
        DefaultMQProducer p = producer("JProducer");
        List<DefaultMQPushConsumer> members = new ArrayList<>();
        for (String who : new String[]{"a", "b", "c"}) {
            DefaultMQPushConsumer c = consumer("JThree" + topic, "three-" + who, topic, "*", collect(who + ":"));
            c.start();
            members.add(c);
        }
        int[] round = {0};
        eventually(90, () -> {
            round[0]++;
            String why = roundTrip(p, round[0], 3);
            return why;
        });
        members.get(2).shutdown();
        Thread.sleep(500);
        round[0]++;
        String why = roundTrip(p, round[0], 2);
        check(why == null, why);
        members.get(0).shutdown();
        members.get(1).shutdown();
        p.shutdown();
    }

    static String roundTrip(DefaultMQProducer p, int round, int least) throws Exception {
        for (int i = 0; i < 60; i++) ok(p.send(new Message(topic, u("r" + round + "-" + i))));
        String why = "";
        for (int w = 0; w < 400 && why != null; w++) {
            Thread.sleep(50);
            int missing = 0;
            Map<String, Integer> by = new TreeMap<>();
            for (int i = 0; i < 60; i++) {
                int n = 0;
                for (String who : new String[]{"a", "b", "c"}) {
                    int k = count(who + ":r" + round + "-" + i);
                    if (k > 0) by.merge(who, 1, Integer::sum);
                    n += k;
                }
                if (n == 0) missing++;
            }
            why = missing == 0 && by.size() >= least ? null : "round " + round + ": " + missing + " missing, by member " + by;
            if (missing == 0 && why != null && w > 40) return why;
        }
        return why;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    static void broadcast() throws Exception {
        for (String who : new String[]{"a", "b"}) {
            DefaultMQPushConsumer c = consumer("JCast" + topic, "cast-" + who, topic, "*", collect(who + ":"));
            // MessageModel moved between packages in 5.0.
            for (java.lang.reflect.Method m : c.getClass().getMethods())
                if (m.getName().equals("setMessageModel")) m.invoke(c, Enum.valueOf((Class<Enum>) m.getParameterTypes()[0], "BROADCASTING"));
            c.start();
        }
        DefaultMQProducer p = producer("JProducer");
        List<String> want = new ArrayList<>();
        for (int i = 0; i < 20; i++) { ok(p.send(new Message(topic, u("all" + i)))); want.add("a:all" + i); want.add("b:all" + i); }
        received(45, want.toArray(new String[0]));
        p.shutdown();
    }

    /** The retry topic must exist, or the client looks for it only after 30 s. */
    static void retry() throws Exception {
        DefaultMQProducer p = producer("JProducer");
        for (String b : new String[]{"good", "once", "poison"}) ok(p.send(new Message(topic, u(b))));
        String group = "JRetry" + topic;
        DefaultMQPushConsumer c = consumer(group, "retry", topic, "*", (ms, x) -> {
            MessageExt m = ms.get(0);
            add(s(m.getBody()) + " r" + m.getReconsumeTimes());
            check(m.getTopic().equals(topic), "topic of a retried message is " + m.getTopic());
            boolean later = s(m.getBody()).equals("poison") || s(m.getBody()).equals("once") && m.getReconsumeTimes() == 0;
            return later ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        c.setMaxReconsumeTimes(2);
        c.start();
        received(60, "good r0", "once r0", "once r1", "poison r0", "poison r1", "poison r2");
        DefaultMQPushConsumer dead = consumer("JDead" + topic, "dead", "%DLQ%" + group, "*", collect("dead:"));
        dead.start();
        received(60, "dead:poison");
        check(count("poison r3") == 0 && count("good r1") == 0 && count("dead:poison") == 1, "received " + got);
        c.shutdown();
        dead.shutdown();
        p.shutdown();
    }

    static void pull() throws Exception {
        DefaultMQProducer p = producer("JProducer");
        for (int i = 0; i < 20; i++) ok(p.send(new Message(topic, "p", "key" + i, u("p" + i))));
        DefaultMQPullConsumer c = new DefaultMQPullConsumer("JPull" + topic);
        c.setNamesrvAddr(ns);
        c.setInstanceName("pull");
        c.start();
        Set<String> all = new HashSet<>();
        for (MessageQueue q : c.fetchSubscribeMessageQueues(topic)) {
            check(c.minOffset(q) == 0, "min offset");
            check(c.searchOffset(q, 0) == 0, "offset by time");
            long off = 0, max = c.maxOffset(q);
            while (off < max) {
                PullResult r = c.pull(q, "*", off, 8);
                check(r.getPullStatus() == PullStatus.FOUND && r.getMaxOffset() == max, r.toString());
                for (MessageExt m : r.getMsgFoundList()) { all.add(s(m.getBody())); check(m.getQueueOffset() == off++, "queue offset"); }
                off = r.getNextBeginOffset();
            }
            check(c.pull(q, "*", max, 8).getPullStatus() == PullStatus.NO_NEW_MSG, "pull at the end");
            check(c.pull(q, "*", max + 1000, 8).getPullStatus() == PullStatus.OFFSET_ILLEGAL, "pull beyond the end");
            c.updateConsumeOffset(q, max);
            check(c.fetchConsumeOffset(q, false) == max, "offset in memory");
        }
        check(all.size() == 20, "pulled " + all);
        c.shutdown();

        DefaultLitePullConsumer lite = new DefaultLitePullConsumer("JLite" + topic);
        lite.setNamesrvAddr(ns);
        lite.setInstanceName("lite");
        lite.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        lite.setAutoCommit(false);
        lite.subscribe(topic, "*");
        lite.start();
        Set<String> polled = new HashSet<>();
        eventually(60, () -> {
            for (MessageExt m : lite.poll(1000)) polled.add(s(m.getBody()));
            return polled.size() == 20 ? null : "polled " + polled.size() + " of 20";
        });
        lite.commitSync();
        Thread.sleep(500);
        long committed = 0;
        for (MessageQueue q : lite.fetchMessageQueues(topic)) committed += Math.max(0, lite.committed(q));
        check(committed == 20, "committed " + committed);
        lite.shutdown();
        p.shutdown();
    }

    static void orderly() throws Exception {
        DefaultMQProducer p = producer("JProducer");
        for (int i = 0; i < 30; i++) ok(p.send(new Message(topic, u(i % 3 + " " + i / 3)), (q, m, k) -> q.get((Integer) k % q.size()), i % 3));
        Map<String, List<Integer>> order = new ConcurrentHashMap<>();
        AtomicInteger n = new AtomicInteger();
        DefaultMQPushConsumer c = new DefaultMQPushConsumer("JOrder" + topic);
        c.setNamesrvAddr(ns);
        c.setInstanceName("order");
        c.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        c.subscribe(topic, "*");
        c.registerMessageListener((MessageListenerOrderly) (ms, x) -> {
            if (n.getAndIncrement() == 3) return ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT;
            for (MessageExt m : ms) {
                String[] f = s(m.getBody()).split(" ");
                order.computeIfAbsent(f[0], k -> new CopyOnWriteArrayList<>()).add(Integer.valueOf(f[1]));
            }
            return ConsumeOrderlyStatus.SUCCESS;
        });
        c.start();
        eventually(60, () -> order.values().stream().mapToInt(List::size).sum() >= 30 ? null : "received " + order);
        for (List<Integer> l : order.values()) for (int i = 0; i < l.size(); i++) check(l.get(i) == i, "out of order: " + order);
        c.shutdown();
        p.shutdown();
    }

    static DefaultMQPushConsumer sqlConsumer(String group, String expression) throws Exception {
        DefaultMQPushConsumer c = consumer(group, group, topic, "*", collect(""));
        c.subscribe(topic, MessageSelector.bySql(expression));
        return c;
    }

    static void sql() throws Exception {
        DefaultMQProducer p = producer("JProducer");
        for (int i = 0; i < 20; i++) {
            Message m = new Message(topic, i % 2 == 0 ? "TagA" : "TagB", u("m" + i));
            m.putUserProperty("price", i + ".5");
            if (i != 8) m.putUserProperty("region", i < 12 ? "south" : "it's");
            ok(p.send(m));
        }
        DefaultMQPushConsumer c = sqlConsumer("JSql" + topic, "(TAGS is not null and TAGS in ('TagA')) and price > 5 and (region = 'it''s' or price between 6 and 10)");
        c.start();
        received(45, "m6", "m12", "m14", "m16", "m18", "m8");
        Message m = new Message(topic, "TagA", u("not wanted"));
        m.putUserProperty("price", "7.5");
        m.putUserProperty("region", "north");
        m.putUserProperty("price", "5");
        ok(p.send(m));
        m = new Message(topic, "TagA", u("wakes a held pull"));
        m.putUserProperty("price", "7");
        ok(p.send(m));
        received(10, "wakes a held pull");
        check(got.size() == 7, "received " + got);
        c.shutdown();

        DefaultMQPushConsumer bad = sqlConsumer("JBad" + topic, "price >>> 3 and");
        String why = "nothing";
        try { bad.start(); } catch (Exception e) { why = e.toString() + e.getCause(); }
        check(why.contains("line 1, column 8"), "a wrong expression says " + why);

        DefaultMQPullConsumer pull = new DefaultMQPullConsumer("JSqlPull" + topic);
        pull.setNamesrvAddr(ns);
        pull.setInstanceName("sqlpull");
        pull.setHeartbeatBrokerInterval(500);
        pull.start();
        Set<String> all = new TreeSet<>();
        Set<MessageQueue> queues = pull.fetchSubscribeMessageQueues(topic);
        eventually(30, () -> { // the client filters by SQL92 only when a heartbeat has told it the broker's version
            try { pull.pull(queues.iterator().next(), MessageSelector.bySql("TRUE"), 0, 1); return null; } catch (Exception e) { return e.toString(); }
        });
        for (MessageQueue q : queues) {
            long off = 0, max = pull.maxOffset(q);
            while (off < max) {
                PullResult r = pull.pull(q, MessageSelector.bySql("price <= 2 and region <> 'north'"), off, 8);
                if (r.getPullStatus() == PullStatus.FOUND) for (MessageExt x : r.getMsgFoundList()) all.add(s(x.getBody()));
                check(r.getNextBeginOffset() > off, r.toString());
                off = r.getNextBeginOffset();
            }
        }
        check(all.equals(new TreeSet<>(Arrays.asList("m0", "m1"))), "pulled " + all);
        pull.shutdown();

        DefaultLitePullConsumer lite = new DefaultLitePullConsumer("JSqlLite" + topic);
        lite.setNamesrvAddr(ns);
        lite.setInstanceName("sqllite");
        lite.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        lite.subscribe(topic, MessageSelector.bySql("region is null and price = 8.5"));
        lite.start();
        Set<String> polled = new TreeSet<>();
        eventually(60, () -> {
            for (MessageExt x : lite.poll(1000)) polled.add(s(x.getBody()));
            return polled.isEmpty() ? "nothing polled" : null;
        });
        check(polled.equals(Collections.singleton("m8")), "polled " + polled);
        lite.shutdown();
        p.shutdown();
    }
}

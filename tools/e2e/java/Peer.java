import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import org.apache.rocketmq.client.consumer.*;
import org.apache.rocketmq.client.consumer.listener.*;
import org.apache.rocketmq.client.producer.*;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.*;

/**
 * One push consumer in a process of its own, which a test can stop or kill. Arguments are key=value; see tools/e2e/peer_test.go for the keys
 * and for what it prints, which is the same as gopeer prints. SIGTERM makes it leave its group. Compiles against 4.9.8 and 5.5.0.
 */
public class Peer {
    static final Map<String, String> args = new HashMap<>();
    static final AtomicInteger seen = new AtomicInteger();

    public static void main(String[] a) throws Exception {
        for (String s : a) args.put(s.substring(0, s.indexOf('=')), s.substring(s.indexOf('=') + 1));
        if (args.containsKey("send")) {
            send();
            System.exit(0);
        }
        DefaultMQPushConsumer c = new DefaultMQPushConsumer(args.get("group"));
        configure(c);
        c.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        c.setConsumeThreadMin(8);
        c.setConsumeThreadMax(8);
        if (args.containsKey("reconsume")) c.setMaxReconsumeTimes(Integer.parseInt(args.get("reconsume")));
        if (args.containsKey("broker")) call(c, "setClientRebalance", false);
        c.subscribe(args.get("topic"), "*");
        if ("orderly".equals(args.get("mode"))) {
            c.registerMessageListener((MessageListenerOrderly) (ms, x) -> {
                for (MessageExt m : ms) {
                    if (refused(m)) {
                        x.setSuspendCurrentQueueTimeMillis(100);
                        return ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT;
                    }
                }
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            c.registerMessageListener((MessageListenerConcurrently) (ms, x) -> {
                for (MessageExt m : ms) if (refused(m)) return ConsumeConcurrentlyStatus.RECONSUME_LATER;
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }
        c.start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            c.shutdown();
            say("BYE");
        }));
        say("READY");
        new CountDownLatch(1).await();
    }

    /** Sends the body to the topic, with the client settings of the arguments. */
    static void send() throws Exception {
        DefaultMQProducer p = new DefaultMQProducer(args.get("group"));
        configure(p);
        p.start();
        SendResult r = p.send(new Message(args.get("topic"), args.get("send").getBytes(StandardCharsets.UTF_8)), 10000);
        say("SENT " + r.getSendStatus() + " " + r.getMessageQueue().getTopic());
        p.shutdown();
    }

    static void configure(org.apache.rocketmq.client.ClientConfig c) throws Exception {
        c.setNamesrvAddr(args.get("ns"));
        c.setInstanceName(args.get("instance"));
        if (args.containsKey("heartbeat")) c.setHeartbeatBrokerInterval(Integer.parseInt(args.get("heartbeat")));
        if (args.containsKey("namespace")) call(c, "setNamespace", args.get("namespace"));
        if (args.containsKey("namespacev2")) call(c, "setNamespaceV2", args.get("namespacev2"));
        if (args.containsKey("unit")) call(c, "setUnitName", args.get("unit"));
        if (args.containsKey("unitmode")) call(c, "setUnitMode", true);
    }

    /** A method that not every release has. */
    static void call(Object o, String name, Object value) throws Exception {
        for (Method m : o.getClass().getMethods())
            if (m.getName().equals(name) && m.getParameterCount() == 1) {
                m.invoke(o, value);
                return;
            }
        throw new NoSuchMethodException(name);
    }

    static boolean refused(MessageExt m) {
        try {
            if (args.containsKey("work")) Thread.sleep(Long.parseLong(args.get("work")));
        } catch (InterruptedException e) {
            return true;
        }
        String body = new String(m.getBody(), StandardCharsets.UTF_8);
        boolean no = body.contains("poison") || args.containsKey("suspend") && m.getReconsumeTimes() < 2 && m.getQueueOffset() % Integer.parseInt(args.get("suspend")) == 3;
        Instant at = Instant.now();
        say((no ? "S " : "M ") + (at.getEpochSecond() * 1_000_000 + at.getNano() / 1000) + " " + m.getQueueId() + " " + m.getQueueOffset() + " " + m.getReconsumeTimes() + " " + m.getTopic() + " " + body);
        return no;
    }

    static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}

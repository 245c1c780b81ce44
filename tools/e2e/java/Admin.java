import java.io.*;
import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * Runs the official mqadmin many times in one JVM: each line of standard input is a command, its arguments separated by
 * 0x01; its output, standard error included, is followed by a line with 0x02 alone.
 */
public class Admin {
    public static void main(String[] a) throws Exception {
        PrintStream real = System.out;
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            PrintStream p = new PrintStream(out, true, "UTF-8");
            System.setOut(p);
            System.setErr(p);
            try {
                MQAdminStartup.main0(line.split("\u0001"), null);
            } catch (Throwable t) {
                t.printStackTrace(p);
            }
            p.flush();
            real.write(out.toByteArray());
            real.print("\n\u0002\n");
            real.flush();
        }
        System.exit(0);
    }
}

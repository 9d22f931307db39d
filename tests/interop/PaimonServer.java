import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * Runs calls of PaimonCheck one after the other in one JVM, since starting one takes longer than most calls.
 *
 * A request is the number of arguments, these, the number of rows, these, a line each; an answer is a line with the exit
 * status and the number of bytes that follow.
 */
public class PaimonServer {
    public static void main(String[] unused) throws Exception {
        System.setProperty("slf4j.internal.verbosity", "ERROR");
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = System.out;
        System.setOut(System.err);
        for (String[] arguments = lines(requests); arguments != null; arguments = lines(requests)) {
            String rows = String.join("\n", lines(requests));
            System.setIn(new ByteArrayInputStream(rows.getBytes(StandardCharsets.UTF_8)));
            ByteArrayOutputStream said = new ByteArrayOutputStream();
            PaimonCheck.out = new PrintStream(said, false, "UTF-8");
            int status = 0;
            try {
                PaimonCheck.run(arguments);
            } catch (Throwable error) {
                status = 1;
                for (Throwable cause = error; cause != null; cause = cause.getCause()) {
                    PaimonCheck.out.println("error: " + cause);
                }
            }
            PaimonCheck.out.flush();
            answers.println(status + " " + said.size());
            said.writeTo(answers);
            answers.flush();
        }
    }

    private static String[] lines(BufferedReader requests) throws Exception {
        String count = requests.readLine();
        if (count == null) {
            return null;
        }
        String[] found = new String[Integer.parseInt(count)];
        for (int i = 0; i < found.length; i++) {
            found[i] = requests.readLine();
        }
        return found;
    }
}

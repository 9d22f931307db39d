import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

/**
 * Flink's SQL over a warehouse, on a cluster within this JVM. A request is a line of words with tabs between, an
 * answer a line: "ok" and a word, or "error" and causes. Requests:
 *
 * <ul>
 *   <li>batch SQL: run to its end; the rows, each behind its kind, as JSON
 *   <li>prepare SQL: a statement without a job for what streams
 *   <li>start SQL SAVEPOINT: an INSERT that streams, from a savepoint unless that is empty; its number
 *   <li>await NUMBER: wait until that is over
 *   <li>stop NUMBER FOLDER: end it with a savepoint; where that stands
 *   <li>watch SQL: a query that streams; its number
 *   <li>changes NUMBER COUNT SECONDS: its next so many rows, fewer if they do not come in time
 *   <li>leave NUMBER: end that query
 * </ul>
 */
public class FlinkSql {
    private static final int SECONDS = 120;
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss");
    private static final DateTimeFormatter MICROS = DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss.SSSSSS");
    private static final ObjectMapper JSON = new ObjectMapper();

    private final String warehouse;
    private final Configuration configuration = new Configuration();
    private final TableEnvironment batch;
    private final List<String> prepared = new ArrayList<>();
    private final List<JobClient> jobs = new ArrayList<>();
    private final List<Watched> watched = new ArrayList<>();

    private FlinkSql(String warehouse, MiniCluster cluster) throws Exception {
        this.warehouse = warehouse;
        configuration.setString("execution.target", "remote");
        configuration.setString("rest.address", cluster.getRestAddress().get().getHost());
        configuration.setString("rest.port", String.valueOf(cluster.getRestAddress().get().getPort()));
        configuration.setString("rest.bind-port", "0"); // procedures start a cluster of their own
        configuration.setString("parallelism.default", "1");
        configuration.setString("table.local-time-zone", "UTC");
        configuration.setString("execution.checkpointing.interval", "250ms");
        batch = environment(EnvironmentSettings.newInstance().inBatchMode(), configuration);
    }

    private TableEnvironment environment(EnvironmentSettings.Builder settings, Configuration said) {
        TableEnvironment made = TableEnvironment.create(settings.withConfiguration(said).build());
        String options = "'type' = 'paimon', 'cache-enabled' = 'false', 'warehouse' = '" + warehouse + "'";
        made.executeSql("CREATE CATALOG lake WITH (" + options + ")");
        made.useCatalog("lake");
        return made;
    }

    /** An environment of its own for what streams, as none forgets an option. */
    private TableEnvironment streaming(String key, String value) {
        Configuration own = new Configuration(configuration);
        if (!value.isEmpty()) {
            own.setString(key, value);
        }
        TableEnvironment made = environment(EnvironmentSettings.newInstance().inStreamingMode(), own);
        prepared.forEach(made::executeSql);
        return made;
    }

    private static MiniCluster cluster() throws Exception {
        Configuration configuration = new Configuration();
        configuration.setString("rest.port", "0");
        configuration.setString("taskmanager.memory.managed.size", "64mb");
        configuration.setString("taskmanager.memory.network.max", "32mb");
        MiniClusterConfiguration.Builder builder = new MiniClusterConfiguration.Builder();
        MiniCluster made =
                new MiniCluster(builder.setConfiguration(configuration).setNumSlotsPerTaskManager(8).build());
        made.start();
        return made;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        FlinkSql flink = new FlinkSql(arguments[0], cluster());
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            try {
                answers.println("ok\t" + JSON.writeValueAsString(flink.answer(line.split("\t", -1))));
            } catch (Throwable error) {
                StringBuilder causes = new StringBuilder("error");
                for (Throwable cause = error; cause != null; cause = cause.getCause()) {
                    causes.append('\t').append(cause.toString().replaceAll("\\s+", " "));
                }
                answers.println(causes);
            }
        }
        System.exit(0);
    }

    private Object answer(String[] words) throws Exception {
        switch (words[0]) {
            case "batch":
                try (CloseableIterator<Row> rows = batch.executeSql(words[1]).collect()) {
                    List<Object> found = new ArrayList<>();
                    rows.forEachRemaining(row -> found.add(plain(row)));
                    return found;
                }
            case "prepare":
                prepared.add(words[1]);
                return null;
            case "start":
                TableEnvironment restored = streaming("execution.state-recovery.path", words[2]);
                jobs.add(restored.executeSql(words[1]).getJobClient().get());
                return jobs.size() - 1;
            case "await":
                return job(words).getJobExecutionResult().get(SECONDS, TimeUnit.SECONDS).getNetRuntime();
            case "stop":
                return job(words)
                        .stopWithSavepoint(false, words[2], SavepointFormatType.CANONICAL)
                        .get(SECONDS, TimeUnit.SECONDS);
            case "watch":
                watched.add(new Watched(streaming("restart-strategy.type", "none").executeSql(words[1])));
                return watched.size() - 1;
            case "changes":
                int count = Integer.parseInt(words[2]);
                return watched.get(Integer.parseInt(words[1])).next(count, Long.parseLong(words[3]));
            case "leave":
                watched.get(Integer.parseInt(words[1])).leave();
                return null;
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private JobClient job(String[] words) {
        return jobs.get(Integer.parseInt(words[1]));
    }

    /** A value as JSON has it, in the words that the tests use. */
    private static Object plain(Object value) {
        if (value instanceof Row) {
            Row row = (Row) value;
            List<Object> parts = new ArrayList<>(List.of(row.getKind().shortString()));
            for (int i = 0; i < row.getArity(); i++) {
                parts.add(plain(row.getField(i)));
            }
            return parts;
        } else if (value instanceof Object[]) {
            return Arrays.stream((Object[]) value).map(FlinkSql::plain).collect(Collectors.toList());
        } else if (value instanceof Map) {
            List<Object> pairs = new ArrayList<>();
            ((Map<?, ?>) value).forEach((key, part) -> pairs.add(Arrays.asList(plain(key), plain(part))));
            return pairs;
        } else if (value instanceof byte[]) {
            return "0x" + HexFormat.of().formatHex((byte[]) value);
        } else if (value instanceof Instant) {
            return plain(LocalDateTime.ofInstant((Instant) value, ZoneOffset.UTC));
        } else if (value instanceof LocalDateTime) {
            LocalDateTime time = (LocalDateTime) value;
            return (time.getNano() == 0 ? TIME : MICROS).format(time);
        } else if (value instanceof BigDecimal) {
            return ((BigDecimal) value).toPlainString();
        }
        boolean isPlain = value == null || value instanceof Number || value instanceof Boolean;
        return isPlain && !(value instanceof Double && ((Double) value).isNaN()) ? value : value.toString();
    }

    /** The rows of a query that streams, as they arrive. */
    private static class Watched {
        private final BlockingQueue<Object> arrived = new LinkedBlockingQueue<>();
        private final TableResult result;
        private volatile Throwable failure;

        private Watched(TableResult result) {
            this.result = result;
            Thread reader = new Thread(() -> result.collect().forEachRemaining(row -> arrived.add(plain(row))));
            reader.setDaemon(true);
            reader.setUncaughtExceptionHandler((thread, error) -> failure = error);
            reader.start();
        }

        private List<Object> next(int count, long seconds) throws InterruptedException {
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
            List<Object> found = new ArrayList<>();
            while (found.size() < count) {
                Object row = arrived.poll(end - System.nanoTime(), TimeUnit.NANOSECONDS);
                if (row == null && failure != null) {
                    throw new IllegalStateException(failure);
                } else if (row == null) {
                    break;
                }
                found.add(row);
            }
            return found;
        }

        private void leave() throws Exception {
            JobClient job = result.getJobClient().get();
            if (!job.getJobStatus().get().isTerminalState()) {
                job.cancel().get(SECONDS, TimeUnit.SECONDS);
            }
        }
    }
}

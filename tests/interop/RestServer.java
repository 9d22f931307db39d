import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.options.Options;
import org.apache.paimon.rest.RESTCatalogServer;
import org.apache.paimon.rest.RESTToken;
import org.apache.paimon.rest.auth.BearTokenAuthProvider;
import org.apache.paimon.rest.auth.DLFDefaultSigner;
import org.apache.paimon.rest.auth.DLFOpenApiSigner;
import org.apache.paimon.rest.auth.DLFRequestSigner;
import org.apache.paimon.rest.auth.DLFToken;
import org.apache.paimon.rest.auth.RESTAuthParameter;
import org.apache.paimon.rest.responses.ConfigResponse;
import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.table.Instant;
import org.apache.paimon.types.DataTypes;

/**
 * Paimon's own REST server of its tests over a folder, and a client of it. Arguments: the folder, the warehouse's name,
 * the token that it asks for. Prints its address; then it answers each line as CatalogServer does, and ends with its
 * input. The line "fail" lets the server fail after the next commit that succeeds.
 */
public class RestServer {
    public static void main(String[] words) {
        try {
            serve(words);
            System.exit(0);
        } catch (Throwable error) {
            error.printStackTrace();
            System.exit(1); // threads of the server would hold it up
        }
    }

    private static void serve(String[] words) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, "UTF-8");
        System.setOut(System.err);
        Map<String, String> defaults = new HashMap<>();
        defaults.put("prefix", "paimon");
        defaults.put("table-default.write-buffer-size", "8 mb");
        RESTCatalogServer server =
                new RESTCatalogServer(
                        words[0],
                        (headers, request) -> checked(words[2], headers, request),
                        new ConfigResponse(defaults, Collections.emptyMap()),
                        words[1]);
        server.start();
        Options options = new Options();
        options.set("metastore", "rest");
        options.set("uri", server.getUrl());
        options.set("warehouse", words[1]);
        options.set("token.provider", "bear");
        options.set("token", words[2]);
        options.set("cache-enabled", "false");
        Catalog client = CatalogFactory.createCatalog(CatalogContext.create(options));
        answers.println(server.getUrl());
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            try {
                List<String> answer = new ArrayList<>(Collections.singletonList("ok"));
                answer.addAll(run(server, client, line.split("\t", -1), answers));
                answers.println(String.join("\t", answer));
            } catch (Throwable error) {
                error.printStackTrace();
                answers.println("error\t" + error.toString().replaceAll("\\s+", " "));
            }
        }
        server.shutdown();
    }

    /** What a request's headers are to be: those of the bearer of a token, or signed by a key with that secret. */
    private static Map<String, String> checked(
            String token, Map<String, String> sent, RESTAuthParameter request) {
        Map<String, String> headers = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        headers.putAll(sent);
        String said = headers.get("Authorization");
        if (said == null || said.startsWith("Bearer")) {
            return new BearTokenAuthProvider(token).mergeAuthHeader(headers, request);
        }
        DLFRequestSigner signer =
                said.startsWith("acs") ? new DLFOpenApiSigner() : new DLFDefaultSigner("cn-hangzhou");
        DLFToken key = new DLFToken("the key", token, null, null);
        try {
            String right = signer.authorization(request, key, headers.get("Host"), headers);
            return Collections.singletonMap("Authorization", right);
        } catch (Exception error) {
            throw new RuntimeException(error);
        }
    }

    private static List<String> run(RESTCatalogServer server, Catalog client, String[] words, PrintStream answers)
            throws Exception {
        switch (words[0]) {
            case "lend": // a table, for how many milliseconds, and options
                Map<String, String> options = new HashMap<>();
                for (String word : Arrays.asList(words).subList(3, words.length)) {
                    options.put(word.split("=", 2)[0], word.split("=", 2)[1]);
                }
                long end = System.currentTimeMillis() + Long.parseLong(words[2]);
                server.setDataToken(CatalogServer.name(words[1]), new RESTToken(options, end));
                return Collections.emptyList();
            case "rights":
                RestRights.tell(server, words);
                return Collections.emptyList();
            case "replace": // a table, a schema as JSON
                RestReplace.replace(server, client, CatalogServer.name(words[1]), words[2]);
                return Collections.emptyList();
            case "fail":
                RESTCatalogServer.commitSuccessThrowException = true;
                return Collections.emptyList();
            case "add column":
                SchemaChange column = SchemaChange.addColumn(words[2], DataTypes.INT());
                client.alterTable(CatalogServer.name(words[1]), Collections.singletonList(column), false);
                return Collections.emptyList();
            case "columns":
                return client.getTable(CatalogServer.name(words[1])).rowType().getFieldNames();
            case "latest":
                return client.loadSnapshot(CatalogServer.name(words[1]))
                        .map(s -> Arrays.asList("" + s.snapshot().id(), "" + s.recordCount(), "" + s.fileCount()))
                        .orElse(Collections.emptyList());
            case "partitions":
                List<String> partitions = new ArrayList<>();
                client.listPartitions(CatalogServer.name(words[1]))
                        .forEach(p -> partitions.add(p.spec() + " " + p.recordCount() + " " + p.fileCount()));
                return CatalogServer.sorted(partitions);
            case "branch":
                client.createBranch(CatalogServer.name(words[1]), words[2], words[3]);
                return Collections.emptyList();
            case "branches":
                return CatalogServer.sorted(client.listBranches(CatalogServer.name(words[1])));
            case "tag":
                client.createTag(CatalogServer.name(words[1]), words[2], null, null, false);
                return Collections.emptyList();
            case "roll back":
                client.rollbackTo(CatalogServer.name(words[1]), Instant.snapshot(Long.parseLong(words[2])));
                return Collections.emptyList();
            case "dialects":
                return CatalogServer.sorted(
                        new ArrayList<>(client.getView(CatalogServer.name(words[1])).dialects().keySet()));
            case "definitions":
                return CatalogServer.sorted(
                        new ArrayList<>(client.getFunction(CatalogServer.name(words[1])).definitions().keySet()));
            default:
                return CatalogServer.run(client, words, answers);
        }
    }
}

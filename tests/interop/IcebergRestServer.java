import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.AlreadyExistsException;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.NoSuchNamespaceException;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.iceberg.inmemory.InMemoryCatalog;
import org.apache.iceberg.inmemory.InMemoryFileIO;
import org.apache.iceberg.rest.CatalogHandlers;
import org.apache.iceberg.rest.RESTCatalogProperties.SnapshotMode;
import org.apache.iceberg.rest.RESTSerializers;
import org.apache.iceberg.rest.requests.CreateNamespaceRequest;
import org.apache.iceberg.rest.requests.RegisterTableRequest;
import org.apache.iceberg.rest.requests.UpdateTableRequest;
import org.apache.iceberg.rest.responses.ErrorResponse;

/** A REST catalog that Iceberg's own handlers answer for, over a catalog in memory; it prints its port and ends with its input. */
public class IcebergRestServer {
    private static final ObjectMapper MAPPER = new ObjectMapper(new JsonFactory());
    private static final InMemoryCatalog CATALOG = new InMemoryCatalog();

    public static void main(String[] unused) throws Exception {
        MAPPER.configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);
        MAPPER.setPropertyNamingStrategy(new PropertyNamingStrategies.KebabCaseStrategy());
        MAPPER.setVisibility(com.fasterxml.jackson.annotation.PropertyAccessor.FIELD,
                com.fasterxml.jackson.annotation.JsonAutoDetect.Visibility.ANY);
        RESTSerializers.registerAll(MAPPER);
        CATALOG.initialize("memory", Map.of());
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", IcebergRestServer::answer);
        server.start();
        System.out.println(server.getAddress().getPort());
        while (System.in.read() >= 0) {}
        System.exit(0);
    }

    private static void answer(HttpExchange exchange) {
        Object answer;
        int status = 200;
        try {
            answer = answered(exchange.getRequestMethod(), exchange.getRequestURI().getPath(), exchange.getRequestBody());
        } catch (Throwable error) {
            status = error instanceof NoSuchTableException || error instanceof NoSuchNamespaceException ? 404
                    : error instanceof AlreadyExistsException || error instanceof CommitFailedException ? 409 : 400;
            answer = ErrorResponse.builder().responseCode(status).withType(error.getClass().getSimpleName())
                    .withMessage(String.valueOf(error.getMessage())).build();
        }
        try (exchange) {
            byte[] data = answer == null ? new byte[0] : MAPPER.writeValueAsBytes(answer);
            exchange.getResponseHeaders().add("Content-Type", "application/json");
            exchange.sendResponseHeaders(answer == null ? 204 : status, answer == null ? -1 : data.length);
            if (answer != null) {
                exchange.getResponseBody().write(data);
            }
        } catch (Exception error) {
            error.printStackTrace();
        }
    }

    private static Object answered(String method, String path, InputStream body) throws Exception {
        if (path.equals("/v1/config")) {
            return Map.of("defaults", Map.of(), "overrides", Map.of("prefix", "p"));
        }
        String[] parts = path.split("/");  // "", v1, p, namespaces, <namespace>, tables, <table>
        if (parts.length == 4) {
            return CatalogHandlers.createNamespace(CATALOG, MAPPER.readValue(body, CreateNamespaceRequest.class));
        }
        Namespace namespace = Namespace.of(parts[4]);
        if (parts[5].equals("register")) {
            RegisterTableRequest request = MAPPER.readValue(body, RegisterTableRequest.class);
            // The catalog reads what is in memory alone.
            String location = request.metadataLocation();
            InMemoryFileIO memory = new InMemoryFileIO();
            if (memory.fileExists(location)) {
                memory.deleteFile(location);
            }
            memory.addFile(location, Files.readAllBytes(Path.of(location)));
            return CatalogHandlers.registerTable(CATALOG, namespace, request);
        }
        TableIdentifier table = TableIdentifier.of(namespace, parts[6]);
        switch (method) {
            case "GET":
                return CatalogHandlers.loadTable(CATALOG, table, SnapshotMode.ALL);
            case "POST":
                return CatalogHandlers.updateTable(CATALOG, table, MAPPER.readValue(body, UpdateTableRequest.class));
            case "DELETE":
                CatalogHandlers.dropTable(CATALOG, table);
                return null;
            default:
                throw new IllegalArgumentException(method);
        }
    }
}
